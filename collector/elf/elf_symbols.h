/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_ELF_SYMBOLS_H
#define WP_COLLECTOR_ELF_ELF_SYMBOLS_H
/* The functions of an ELF file by their place in the file, its stubs ("write@plt") where it calls others, and its
 * variables. */
#include "collector/elf/elf_file.h"

struct wp_elf_symbols;

/* `separate`: its debug file, or NULL. Both may be closed afterwards. -ENOMEM. */
int wp_elf_symbols_read(struct wp_elf_symbols **symbols, const struct wp_elf_file *file,
    const struct wp_elf_file *separate, struct wp_error *err);
/* Frees the tables with all names that were returned from them. NULL is allowed. */
void wp_elf_symbols_destroy(struct wp_elf_symbols *symbols);
/* Lets go of names that nobody will ask for: for those that are kept. Nothing that was returned before is
 * valid behind it. */
void wp_elf_symbols_trim(struct wp_elf_symbols *symbols);
/* The address that the file was linked for, of a file offset; false: in no segment. */
bool wp_elf_symbols_address(const struct wp_elf_symbols *symbols, uint64_t file_offset, uint64_t *address);
/* The function at a file offset, NULL when there is none known. Borrowed. */
const char *wp_elf_symbols_find(const struct wp_elf_symbols *symbols, uint64_t file_offset);
/* As wp_elf_symbols_address, in what may be written, with what begins as zeros and is not in the file. */
bool wp_elf_symbols_data_address(const struct wp_elf_symbols *symbols, uint64_t file_offset, uint64_t *address);
/* Where in a variable an address is. */
struct wp_elf_place {
    uint64_t inside, size; /* of the variable; 0: not known */
};

/* The variable at an address, and how far inside of it that is; NULL. Borrowed. */
const char *wp_elf_symbols_data(const struct wp_elf_symbols *symbols, uint64_t address, struct wp_elf_place *place);
/* Appends them as bytes that wp_elf_symbols_decode takes, on a machine of this kind. -ENOMEM. */
int wp_elf_symbols_encode(const struct wp_elf_symbols *symbols, struct wp_buffer *out);
/* -EINVAL: these are not what was encoded. */
int wp_elf_symbols_decode(struct wp_elf_symbols **symbols, const uint8_t *bytes, size_t size);
/* What they take of memory. */
size_t wp_elf_symbols_bytes(const struct wp_elf_symbols *symbols);
/* The number of functions with their stubs, without variables. */
uint32_t wp_elf_symbols_count(const struct wp_elf_symbols *symbols);

#endif
