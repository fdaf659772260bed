/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/interp/interp_text.h"

#include "collector/bpf/interp_row.h"
#include "common/utf8.h"

#include <string.h>

static uint32_t character_at(const uint8_t *bytes, uint32_t unit)
{
    uint32_t c = 0;
    for (uint32_t i = unit; i; i--)
        c = c << 8 | bytes[i - 1];
    bool is_surrogate = c >= 0xd800 && c < 0xe000;
    return !c || is_surrogate || c > 0x10ffff ? WP_UTF8_REPLACEMENT : c;
}

void wp_interp_text_put(struct wp_buffer *out, const struct wp_fact_text *text)
{
    bool is_wide = text->unit == 1 || text->unit == 2 || text->unit == 4, is_utf8 = text->unit == WP_INTERP_UTF8;
    if (is_utf8)
        wp_utf8_clean(out, (const char *)text->bytes, strnlen((const char *)text->bytes, text->size));
    for (uint32_t at = 0; is_wide && text->size - at >= text->unit; at += text->unit)
        wp_utf8_put(out, character_at(text->bytes + at, text->unit));
    if ((is_wide || is_utf8) && text->is_cut)
        wp_buffer_puts(out, "...");
    wp_buffer_append(out, "", 1);
}
