/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_DEBUG_LINES_H
#define WP_COLLECTOR_ELF_DEBUG_LINES_H
/*
 * Source files, lines and inlined functions from DWARF, by libdw. Tables are made of a compilation unit when an address
 * in it is first asked for. Debug info is hostile too: depths and counts are bounded, and so is the time that one
 * object may take.
 */
#include "collector/elf/elf_file.h"

struct wp_debug_lines;

#define WP_INLINE_LEVELS 16u

/* One function at a place. Texts are borrowed from the debug info, and until the next answer. */
struct wp_debug_level {
    const char *function; /* as it is linked (mangled) when that is known, NULL: unknown */
    const char *file;     /* whole, when the debug info says what folder it is from; NULL: unknown */
    uint32_t line; /* in `file`; 0: unknown. Of all but the last level: where the next one's function was inlined */
};

/* Borrows the file, which must stay open. -ENOENT: it has no debug info; -E2BIG: more than `limit` bytes of it. */
int wp_debug_lines_open(
    struct wp_debug_lines **lines, const struct wp_elf_file *file, uint64_t limit, struct wp_error *err);
/* Frees the tables and the texts it returned. Must precede the closing of the file. NULL is allowed. */
void wp_debug_lines_close(struct wp_debug_lines *lines);
/* Bytes that it holds in memory at least. */
uint64_t wp_debug_lines_bytes(const struct wp_debug_lines *lines);
/* The function at an address of the file and those inlined there, outermost first; how many. 0: nothing is known. */
unsigned wp_debug_lines_find(
    struct wp_debug_lines *lines, uint64_t address, struct wp_debug_level levels[WP_INLINE_LEVELS]);

#endif
