/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/value/packed.h"

#include "storage/value/columns.h"

#include <errno.h>

enum { NUMBER = 0, BYTES = 2 }; /* wire types */

/* A field's number and type, and the number behind them: its value, or how many bytes follow. */
static bool put_head(struct wp_packed *packed, unsigned field, unsigned type, uint64_t value)
{
    struct wp_buffer *out = packed->out;
    if (wp_buffer_reserve(out, 2 * WP_PACKED_NUMBER_BYTES)) {
        packed->has_failed = true;
        return false;
    }
    uint8_t *end = wp_packed_put(out->data + out->size, (uint64_t)field << 3 | type);
    out->size = (size_t)(wp_packed_put(end, value) - out->data);
    return true;
}

void wp_packed_number(struct wp_packed *packed, unsigned field, uint64_t value)
{
    if (value)
        put_head(packed, field, NUMBER, value);
}

void wp_packed_bytes(struct wp_packed *packed, unsigned field, const void *bytes, size_t size)
{
    if (put_head(packed, field, BYTES, size) && size && wp_buffer_append(packed->out, bytes, size))
        packed->has_failed = true;
}

uint8_t *wp_packed_begin(struct wp_packed *packed, size_t count)
{
    wp_buffer_clear(&packed->column);
    if (count > SIZE_MAX / WP_PACKED_NUMBER_BYTES ||
        wp_buffer_reserve(&packed->column, count * WP_PACKED_NUMBER_BYTES)) {
        packed->has_failed = true;
        return NULL;
    }
    return packed->column.data;
}

void wp_packed_end(struct wp_packed *packed, unsigned field, const uint8_t *end)
{
    size_t size = (size_t)(end - packed->column.data);
    if (size)
        wp_packed_bytes(packed, field, packed->column.data, size);
}

int wp_packed_fini(struct wp_packed *packed, size_t before, const char *what, struct wp_error *err)
{
    size_t size = packed->out->size - before;
    int rc = 0;
    if (packed->has_failed)
        rc = wp_error_set(err, -ENOMEM, "out of memory for a %s", what);
    else if (size > WP_MESSAGE_LIMIT)
        rc = wp_error_set(err, -EFBIG, "a %s of %zu bytes is over the limit of %u", what, size, WP_MESSAGE_LIMIT);
    if (rc)
        packed->out->size = before;
    wp_buffer_fini(&packed->column);
    return rc;
}
