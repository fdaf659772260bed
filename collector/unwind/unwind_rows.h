/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_UNWIND_UNWIND_ROWS_H
#define WP_COLLECTOR_UNWIND_UNWIND_ROWS_H
/*
 * The rows of an object that the kernel side walks by (collector/bpf/unwind_row.h): for each place in its code where
 * the caller's frame and its bp are. Made by collector/unwind/unwind_reader.h, kept on disk by
 * collector/unwind/unwind_cache.h. Rules that a row cannot hold are left out and counted.
 */
#include "collector/bpf/unwind_row.h"
#include "common/buffer.h"
#include "common/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_unwind_rows;

#define WP_UNWIND_FILE_LIMIT (1ull << 31) /* bytes of a file whose rows are kept */

/* NULL: no memory. */
struct wp_unwind_rows *wp_unwind_rows_create(void);
/* Frees rows that were created or decoded. NULL is allowed. */
void wp_unwind_rows_destroy(struct wp_unwind_rows *rows);
/* Code that is loaded at an address; of all else rows are not kept. */
void wp_unwind_rows_load(struct wp_unwind_rows *rows, uint64_t address, uint64_t offset, uint64_t size);
/* From an address on, until the next one. -E2BIG, -ENOMEM. */
int wp_unwind_rows_add(struct wp_unwind_rows *rows, uint64_t address, const struct wp_unwind_row *rule);
/* From there on there is no rule. */
int wp_unwind_rows_gap(struct wp_unwind_rows *rows, uint64_t address);
/* A function that has no caller; `end`: WP_CFA_END, WP_CFA_GOROUTINE. */
void wp_unwind_rows_end(struct wp_unwind_rows *rows, uint64_t address, uint64_t size, uint16_t end);
/* What was added is found from now on. What is added later for a place takes its turn when this is called again. */
void wp_unwind_rows_settle(struct wp_unwind_rows *rows);
/* Whether there is a rule at an address. */
bool wp_unwind_rows_has(const struct wp_unwind_rows *rows, uint64_t address);
/* How many rows were added, gaps among them, whether settled or not. */
uint32_t wp_unwind_rows_count(const struct wp_unwind_rows *rows);
/* As bytes of this version on this machine, with a checksum. -ENOMEM. */
int wp_unwind_rows_encode(const struct wp_unwind_rows *rows, struct wp_buffer *out);
/* -EINVAL: of another version, damaged, or no rows at all. */
int wp_unwind_rows_decode(struct wp_unwind_rows **rows, const uint8_t *bytes, size_t size);

/* What wp_unwind_rows_pages delivered, and what it left out. */
struct wp_unwind_stats {
    uint64_t rows, pages, crowded_pages /* left out */, odd_rules /* left out */;
};

/* Calls back for every page of code; stops at the first answer that is not 0 and returns it. */
int wp_unwind_rows_pages(const struct wp_unwind_rows *rows,
    int (*page)(void *context, uint32_t number, const struct wp_unwind_page *page), void *context,
    struct wp_unwind_stats *stats);

#endif
