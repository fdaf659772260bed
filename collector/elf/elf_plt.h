/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_ELF_PLT_H
#define WP_COLLECTOR_ELF_ELF_PLT_H
/*
 * The stubs through which an object calls functions of others (the procedure linkage table, System V ABI x86-64 5.2).
 * No symbol names them: each jumps through a slot, and a relocation says whose address the slot gets.
 */
#include "collector/elf/elf_file.h"

/* Calls back with "write@plt" for each stub; stops at the first answer that is not 0 and returns it. Of other machines
 * than x86-64: nothing. */
int wp_elf_plt_read(const struct wp_elf_file *file,
    int (*stub)(void *context, uint64_t address, uint64_t size, const char *name), void *context);

#endif
