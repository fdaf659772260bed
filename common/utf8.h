/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_UTF8_H
#define WP_COMMON_UTF8_H
/*
 * UTF-8 from outside (RFC 3629: no overlong forms, no surrogates, nothing past U+10FFFF). A byte that starts no
 * character stands for itself: who shows it puts WP_UTF8_REPLACEMENT in its place.
 */
#include "common/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WP_UTF8_REPLACEMENT 0xfffdu
#define WP_UTF8_MOST 4u /* bytes of one character; as the size of what ends with 0, which is never read past */

/* Bytes of the character there, of at most `size`, which is not 0; 0: none, and *c is WP_UTF8_REPLACEMENT. */
size_t wp_utf8_decode(const char *bytes, size_t size, uint32_t *c);
/* Appends the character. */
void wp_utf8_put(struct wp_buffer *out, uint32_t c);
/* Appends the bytes, what is no UTF-8 replaced. */
void wp_utf8_clean(struct wp_buffer *out, const char *bytes, size_t size);

/* Is that text UTF-8 of 1 to `most` bytes, without control characters? */
bool wp_utf8_is_plain(const char *text, size_t most);

/* C0, DEL and C1: what makes a terminal do something, or two lines of one. */
static inline bool wp_utf8_is_control(uint32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

#endif
