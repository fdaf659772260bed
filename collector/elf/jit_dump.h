/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_JIT_DUMP_H
#define WP_COLLECTOR_ELF_JIT_DUMP_H
/*
 * The file jit-PID.dump (tools/perf/Documentation/jitdump-specification.txt of Linux): what code a process made while
 * it ran, told by Node with --perf-prof, LLVM's JITs, agents of Java and .NET. Where functions are, what they are
 * called and which lines of source their code is from is taken; the code itself is passed over. The file is the
 * process' own and hostile.
 */
#include <stdint.h>

struct wp_jit_code {
    uint64_t start, size;
    const char *name; /* valid during the call; NULL: that of what was at `from` */
    uint64_t from;
};

/* From `address` on the code is of that line. */
struct wp_jit_line {
    uint64_t code;    /* the start of the function, which is told behind its lines */
    uint64_t address; /* not below `code` */
    uint32_t line;
    const char *file; /* valid during the call */
};

/* Who is told what stands in a dump, record by record. */
struct wp_jit_sink {
    void (*code)(void *context, const struct wp_jit_code *code);
    void (*line)(void *context, const struct wp_jit_line *line);
    void *context;
};

/* Takes the whole records from *at on (0: the file's beginning), and moves it behind them; the last one may still be in
 * the making. One call takes so much, a later one goes on. Lines of a function that take more than a megabyte, or
 * that cannot be, are passed over. -EINVAL: no such file, or a record that cannot be; nothing behind it is to be
 * believed. */
int wp_jit_dump_read(int fd, uint64_t *at, const struct wp_jit_sink *sink);

#endif
