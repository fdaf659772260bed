/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_CODE_PART_H
#define WP_COLLECTOR_INTERP_CODE_PART_H
/*
 * Code without symbols that belongs to a function, found by where the function's jumps and calls lead to (x86-64). Its
 * range is one of call frame information.
 */
#include "collector/elf/elf_file.h"

/* From, and to before. Addresses as the file was linked for. */
struct wp_code_part {
    uint64_t start, end;
};

/* What compilers move out of a function because it seldom runs (NAME.cold): where most of its jumps out of it lead to.
 * False, with nothing changed: there is none that can be found. */
bool wp_code_part_cold(const struct wp_elf_file *file, uint64_t function, uint64_t size, struct wp_code_part *part);
/* The largest function that it calls. False as above. */
bool wp_code_part_callee(const struct wp_elf_file *file, uint64_t function, uint64_t size, struct wp_code_part *part);
/* The largest function that it goes on in, as its last call. False as above. */
bool wp_code_part_tail(const struct wp_elf_file *file, uint64_t function, uint64_t size, struct wp_code_part *part);
/* The function that another one calls, or goes on in, right after it has loaded its own address. False as above. */
bool wp_code_part_given(const struct wp_elf_file *file, uint64_t function, struct wp_code_part *part);
/* How many of its jumps lead to where a register or memory says; 0, too: it cannot be read. */
unsigned wp_code_part_jumps(const struct wp_elf_file *file, const struct wp_code_part *part);

#endif
