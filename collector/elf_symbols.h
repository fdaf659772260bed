/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_ELF_SYMBOLS_H
#define WP_COLLECTOR_ELF_SYMBOLS_H
/* The functions of an ELF file (elf(5)), by their place in the file. Files are hostile: read, never mapped, and bounded. */
#include "common/error.h"

#include <stddef.h>
#include <stdint.h>

struct wp_elf_symbols;

/* -ESTALE when the file has another build id than the one wanted (of size 0: any will do); -ENOEXEC: no ELF file. */
int wp_elf_symbols_read(struct wp_elf_symbols **symbols, const char *path, const uint8_t *build_id, uint32_t build_id_size,
    struct wp_error *err);
/* As above, from an image in memory (the vdso), which must stay until the call returns. */
int wp_elf_symbols_parse(struct wp_elf_symbols **symbols, const void *image, size_t size, struct wp_error *err);
void wp_elf_symbols_destroy(struct wp_elf_symbols *symbols);
/* The function at a file offset, NULL when there is none known. Borrowed. */
const char *wp_elf_symbols_find(const struct wp_elf_symbols *symbols, uint64_t file_offset);
uint32_t wp_elf_symbols_count(const struct wp_elf_symbols *symbols);

#endif
