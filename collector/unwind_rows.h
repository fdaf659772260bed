/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_UNWIND_ROWS_H
#define WP_COLLECTOR_UNWIND_ROWS_H
/*
 * An object's .eh_frame, or .debug_frame, as the rows that the kernel side walks by (collector/bpf/unwind_row.h): for each place in its code
 * where the caller's frame and its bp are. Rules that a row cannot hold are left out and counted.
 */
#include "collector/bpf/unwind_row.h"
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_unwind_rows;

/* From an open file (it stays open). -ENOEXEC: no ELF file of this machine, or without either. -E2BIG. */
int wp_unwind_rows_read(struct wp_unwind_rows **rows, int fd, struct wp_error *err);
/* The same for a machine (EM_X86_64, EM_AARCH64) that this one need not be. */
int wp_unwind_rows_read_of(struct wp_unwind_rows **rows, int fd, unsigned machine, struct wp_error *err);
/* From an image in memory (the vdso). */
int wp_unwind_rows_parse(struct wp_unwind_rows **rows, const void *image, size_t size, struct wp_error *err);
void wp_unwind_rows_destroy(struct wp_unwind_rows *rows);
uint32_t wp_unwind_rows_count(const struct wp_unwind_rows *rows);
/* The rule at an offset in the file, as the kernel side finds it; false: there is none. */
bool wp_unwind_rows_find(const struct wp_unwind_rows *rows, uint64_t offset, struct wp_unwind_row *row);
/* As bytes of this version on this machine, with a checksum. -ENOMEM. */
int wp_unwind_rows_encode(const struct wp_unwind_rows *rows, struct wp_buffer *out);
/* -EINVAL: of another version, damaged, or no rows at all. */
int wp_unwind_rows_decode(struct wp_unwind_rows **rows, const uint8_t *bytes, size_t size);

struct wp_unwind_stats {
    uint64_t rows, pages, crowded_pages /* left out */, odd_rules /* left out */;
};

/* Calls back for every page of code; stops at the first answer that is not 0 and returns it. */
int wp_unwind_rows_pages(const struct wp_unwind_rows *rows,
    int (*page)(void *context, uint32_t number, const struct wp_unwind_page *page), void *context, struct wp_unwind_stats *stats);

#endif
