/* SPDX-License-Identifier: Apache-2.0 */
#include "common/utf8.h"

size_t wp_utf8_decode(const char *bytes, size_t size, uint32_t *c)
{
    const unsigned char *at = (const unsigned char *)bytes;
    *c = at[0];
    if (at[0] < 0x80)
        return 1;
    size_t length = at[0] >= 0xf0 ? 4 : at[0] >= 0xe0 ? 3 : 2;
    unsigned char least = at[0] == 0xe0 ? 0xa0 : at[0] == 0xf0 ? 0x90 : 0x80; /* Unicode 15, table 3-7 */
    unsigned char most = at[0] == 0xed ? 0x9f : at[0] == 0xf4 ? 0x8f : 0xbf;
    *c = WP_UTF8_REPLACEMENT;
    if (at[0] < 0xc2 || at[0] > 0xf4 || length > size || at[1] < least || at[1] > most)
        return 0;
    uint32_t made = at[0] & (0x7fu >> length);
    for (size_t i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        made = made << 6 | (at[i] & 0x3fu);
    }
    *c = made;
    return length;
}

void wp_utf8_put(struct wp_buffer *out, uint32_t c)
{
    char bytes[WP_UTF8_MOST];
    size_t size = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = size; i-- > 1; c >>= 6)
        bytes[i] = (char)(0x80 | (c & 0x3f));
    bytes[0] = (char)(size == 1 ? c : (0xf00u >> size & 0xff) | c);
    wp_buffer_append(out, bytes, size);
}

void wp_utf8_clean(struct wp_buffer *out, const char *bytes, size_t size)
{
    for (size_t i = 0, step; i < size; i += step ? step : 1) {
        uint32_t c;
        step = wp_utf8_decode(bytes + i, size - i, &c);
        if (step)
            wp_buffer_append(out, bytes + i, step);
        else
            wp_utf8_put(out, c);
    }
}

bool wp_utf8_is_plain(const char *text, size_t most)
{
    size_t at = 0;
    for (size_t step; text[at] && at <= most; at += step) {
        uint32_t c;
        step = wp_utf8_decode(text + at, WP_UTF8_MOST, &c);
        if (!step || wp_utf8_is_control(c))
            return false;
    }
    return at && at <= most;
}
