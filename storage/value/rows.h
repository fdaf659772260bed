/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_VALUE_ROWS_H
#define WP_STORAGE_VALUE_ROWS_H
/* Growing arrays of plain rows, and the arithmetic that reports and traces share. */
#include "common/intern.h"

#include <stddef.h>
#include <stdint.h>

#define WP_ROWS_LIMIT (1u << 28) /* rows of one kind in one report or trace */
#define WP_TEXT_LIMIT 65535u     /* bytes of one string; longer ones are cut when they come in */

/* Makes room for one more row in *(row_type **)rows. -ENOMEM. */
int wp_rows_grow(void *rows, uint32_t *room, uint32_t count, size_t row_size);
/* The id of `text` (NULL: ""), cut to WP_TEXT_LIMIT; UINT32_MAX when out of memory. */
uint32_t wp_rows_string(struct wp_intern *strings, const char *text);

/* The order of two texts by their bytes. */
int wp_rows_compare_texts(const struct wp_intern *strings, uint32_t a, uint32_t b);

/* A sum that stays at its limit: still associative and commutative, so that hostile counts cannot break the merge law.
 */
static inline uint64_t wp_sum(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

/* That sum of so many. */
static inline uint64_t wp_times(uint64_t ns, uint64_t times)
{
    uint64_t product;
    return __builtin_mul_overflow(ns, times, &product) ? UINT64_MAX : product;
}

/* Packs two ids into one half of a struct wp_intkey. */
static inline uint64_t wp_pair(uint32_t high, uint32_t low)
{
    return (uint64_t)high << 32 | low;
}

#endif
