/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/display/number_column.h"

#include <inttypes.h>
#include <stdbool.h>

#define LARGEST 9007199254740991u

static void put_step(struct wp_buffer *out, uint64_t size, bool is_negative)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char text[16];
    size_t length = 0;
    uint64_t left = size << 1 | is_negative; /* 54 bits at most */
    do {
        uint64_t digit = left & 31u;
        left >>= 5;
        text[length++] = digits[digit | (left ? 32u : 0)];
    } while (left);
    wp_buffer_append(out, text, length);
}

void wp_number_column_put(struct wp_buffer *out, const char *name, uint32_t count,
    uint64_t (*value)(const void *context, uint32_t row), const void *context)
{
    uint64_t before = 0;
    wp_buffer_printf(out, "\"%s\":wakepath.column(%" PRIu32 ",\"", name, count);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t now = value(context, i);
        now = now < LARGEST ? now : LARGEST;
        put_step(out, now < before ? before - now : now - before, now < before);
        before = now;
    }
    wp_buffer_puts(out, "\"),\n");
}
