/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_COLD_PART_H
#define WP_COLLECTOR_INTERP_COLD_PART_H
/*
 * Compilers move what a function seldom runs into a part of its own (NAME.cold), whose symbol a stripped file has not:
 * it is the range of call frame information that most of the function's jumps out of it lead to (x86-64).
 */
#include "collector/elf/elf_file.h"

/* From, and to before. Addresses as the file was linked for. */
struct wp_cold_part {
    uint64_t start, end;
};

/* False, with nothing changed: there is none that can be found. */
bool wp_cold_part_find(const struct wp_elf_file *file, uint64_t function, uint64_t size, struct wp_cold_part *part);

#endif
