/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_INTERP_INTERP_IMAGE_H
#define WP_COLLECTOR_INTERP_INTERP_IMAGE_H
/* What an object file says of the interpreter in it: symbols by name, bytes at addresses, where its loop is. */
#include "collector/bpf/interp_row.h"
#include "collector/elf/elf_file.h"

/* Address 0: there is none. Addresses as the file was linked for. */
struct wp_interp_symbol {
    uint64_t address, size;
};

/* Which symbols: by their names, or by how those begin. A file without the first one in a table is looked at no
 * further, so that one name costs most files a search among names. */
struct wp_interp_search {
    const char *const *names;
    unsigned count;
    unsigned prefixes; /* so many of the last */
};

/* Fills `found`, one for each name. */
void wp_interp_image_symbols(
    const struct wp_elf_file *file, const struct wp_interp_search *search, struct wp_interp_symbol *found);
/* The bytes that the file has for an address. False: not all of them. */
bool wp_interp_image_bytes(const struct wp_elf_file *file, uint64_t address, void *bytes, size_t size);
/* Fills in the addresses that a table at `address` of a file will have as soon as the loader has put it somewhere; 0:
 * none. */
void wp_interp_image_pointers(const struct wp_elf_file *file, uint64_t address, uint64_t *pointers, unsigned count);
/* What is to be added to an address as linked to count it as struct wp_interp_file does; `code`: an address of its
 * code. False: it is in no segment. */
bool wp_interp_image_shift(const struct wp_elf_file *file, uint64_t code, uint64_t *shift);
/* Fills in where the loop is, and the part of it that lies apart; `cold`: of the latter, if there is a symbol. */
void wp_interp_image_loop(const struct wp_elf_file *file, const struct wp_interp_symbol *loop,
    const struct wp_interp_symbol *cold, uint64_t shift, struct wp_interp_file *out);

#endif
