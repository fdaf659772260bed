/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_JIT_DUMP_H
#define WP_COLLECTOR_ELF_JIT_DUMP_H
/*
 * The file jit-PID.dump (tools/perf/Documentation/jitdump-specification.txt of Linux): what code a process made while
 * it ran, told by Node with --perf-prof, LLVM's JITs, agents of Java and .NET. Only where functions are and what they
 * are called is taken; the code itself is passed over. The file is the process' own and hostile.
 */
#include <stdint.h>

struct wp_jit_code {
    uint64_t start, size;
    const char *name; /* valid during the call; NULL: that of what was at `from` */
    uint64_t from;
};

typedef void wp_jit_code_cb(void *context, const struct wp_jit_code *code);

/* Takes the whole records from *at on (0: the file's beginning), and moves it behind them; the last one may still be in
 * the making. -EINVAL: no such file, or a record that cannot be; nothing behind it is to be believed. */
int wp_jit_dump_read(int fd, uint64_t *at, wp_jit_code_cb *code, void *context);

#endif
