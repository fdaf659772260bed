/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_GO_FILE_H
#define WP_COLLECTOR_INTERP_GO_FILE_H
/*
 * Whether an object file is a Go program (x86-64, stripped or not), and where its runtime keeps its timers. The runtime
 * has a function that goes through all of them for the earliest one; the instructions of that say where they are. The
 * file is only read; each timer is checked in each process (collector/bpf/go_timer.h).
 */
#include "collector/bpf/interp_row.h"
#include "collector/elf/elf_file.h"

/* What the code of runtime.timeSleepUntil, which begins at `address`, says of allp and of a P (Go 1.14 to 1.26:
 * time.go, runtime2.go, chan.go of src/runtime). False: nothing that is known. The code is hostile. */
bool wp_go_file_find(const uint8_t *code, size_t size, uint64_t address, uint64_t *all, struct wp_go_offsets *at);
/* As wp_interp_languages_read. -ENOENT, too: a Go program of whose timers nothing is known. */
int wp_go_file_read(
    const struct wp_elf_file *file, struct wp_interp_file *out, uint32_t *version, struct wp_error *err);

#endif
