/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/value/rows.h"

#include "common/array.h"

#include <errno.h>
#include <string.h>

int wp_rows_grow(void *rows, uint32_t *room, uint32_t count, size_t row_size)
{
    if (count < *room)
        return 0;
    if (count >= WP_ROWS_LIMIT)
        return -ENOMEM;
    size_t wide = *room;
    int rc = wp_array_fit(rows, &wide, &(const struct wp_array_wish){count + (size_t)1, row_size, false});
    *room = (uint32_t)wide;
    return rc;
}

int wp_rows_compare_texts(const struct wp_intern *strings, uint32_t a, uint32_t b)
{
    size_t a_size = wp_intern_size(strings, a), b_size = wp_intern_size(strings, b);
    int rc =
        a == b ? 0 : memcmp(wp_intern_text(strings, a), wp_intern_text(strings, b), a_size < b_size ? a_size : b_size);
    return rc ? rc : a_size < b_size ? -1 : a_size > b_size;
}

uint32_t wp_rows_string(struct wp_intern *strings, const char *text)
{
    return text && *text ? wp_intern_id(strings, text, strnlen(text, WP_TEXT_LIMIT)) : 0;
}
