/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json_plain.h"

#include <stdbool.h>

void wp_json_plain(struct wp_buffer *out, const char *json)
{
    const char *from = json, *at = json;
    for (; *at; at++) {
        const unsigned char *c = (const unsigned char *)at;
        bool is_high = c[0] == 0xc2 && c[1] >= 0x80 && c[1] < 0xa0;
        if (!is_high && c[0] != 0x7f)
            continue;
        wp_buffer_append(out, from, (size_t)(at - from));
        wp_buffer_printf(out, "\\u%04x", is_high ? c[1] : c[0]);
        at += is_high;
        from = at + 1;
    }
    wp_buffer_append(out, from, (size_t)(at - from));
}
