/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/display/escape.h"

#include <stdbool.h>
#include <string.h>

#define REPLACEMENT 0xfffdu

/* Decodes one character at *text and steps over it; U+FFFD for a byte that starts none (RFC 3629: no overlong forms,
 * no surrogates, nothing past U+10FFFF). */
static uint32_t next_char(const unsigned char **text)
{
    const unsigned char *at = *text;
    uint32_t c = at[0];
    unsigned more = c < 0x80     ? 0
        : c >= 0xc2 && c <= 0xdf ? 1
        : c >= 0xe0 && c <= 0xef ? 2
        : c >= 0xf0 && c <= 0xf4 ? 3
                                 : 4;
    *text = at + 1;
    if (!more)
        return c;
    if (more > 3)
        return REPLACEMENT;
    c &= 0x3fu >> more;
    for (unsigned i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return REPLACEMENT;
        c = c << 6 | (at[i] & 0x3fu);
    }
    static const uint32_t least[4] = {0, 0x80, 0x800, 0x10000};
    if (c < least[more] || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
        return REPLACEMENT;
    *text = at + 1 + more;
    return c;
}

static void put_char(struct wp_buffer *out, uint32_t c)
{
    char bytes[4];
    size_t size = 0;
    if (c < 0x80) {
        bytes[size++] = (char)c;
    } else if (c < 0x800) {
        bytes[size++] = (char)(0xc0 | c >> 6);
        bytes[size++] = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        bytes[size++] = (char)(0xe0 | c >> 12);
        bytes[size++] = (char)(0x80 | (c >> 6 & 0x3f));
        bytes[size++] = (char)(0x80 | (c & 0x3f));
    } else {
        bytes[size++] = (char)(0xf0 | c >> 18);
        bytes[size++] = (char)(0x80 | (c >> 12 & 0x3f));
        bytes[size++] = (char)(0x80 | (c >> 6 & 0x3f));
        bytes[size++] = (char)(0x80 | (c & 0x3f));
    }
    wp_buffer_append(out, bytes, size);
}

/* Characters that reorder what stands around them (Unicode TR9) and line separators. */
static bool turns_writing(uint32_t c)
{
    return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

static uint32_t visible(uint32_t c)
{
    if (c < 0x20)
        return 0x2400 + c;
    if (c == 0x7f)
        return 0x2421;
    return (c >= 0x80 && c < 0xa0) || turns_writing(c) || c == 0xfeff ? REPLACEMENT : c;
}

void wp_escape_utf8(struct wp_buffer *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at)
        put_char(out, next_char(&at));
}

void wp_escape_html(struct wp_buffer *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        uint32_t c = visible(next_char(&at));
        if (c == '&')
            wp_buffer_puts(out, "&amp;");
        else if (c == '<')
            wp_buffer_puts(out, "&lt;");
        else if (c == '>')
            wp_buffer_puts(out, "&gt;");
        else if (c == '"')
            wp_buffer_puts(out, "&quot;");
        else if (c == '\'')
            wp_buffer_puts(out, "&#39;");
        else
            put_char(out, c);
    }
}

void wp_escape_js(struct wp_buffer *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    wp_buffer_putc(out, '"');
    while (*at) {
        uint32_t c = visible(next_char(&at));
        if (c == '"' || c == '\\')
            wp_buffer_printf(out, "\\%c", (char)c);
        else if (c == '<' || c == '>' || c == '&' || c == '\'')
            wp_buffer_printf(out, "\\u%04x", c);
        else
            put_char(out, c);
    }
    wp_buffer_putc(out, '"');
}

void wp_escape_json(struct wp_buffer *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    wp_buffer_putc(out, '"');
    while (*at) {
        uint32_t c = next_char(&at);
        if (c == '"' || c == '\\')
            wp_buffer_printf(out, "\\%c", (char)c);
        else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029)
            wp_buffer_printf(out, "\\u%04x", c);
        else
            put_char(out, c);
    }
    wp_buffer_putc(out, '"');
}

void wp_escape_csv(struct wp_buffer *out, const char *text)
{
    struct wp_buffer clean = {0};
    if (*text && strchr("=+-@", *text))
        wp_buffer_putc(&clean, '\'');
    wp_escape_text(&clean, text);
    const char *at = clean.size ? (const char *)clean.data : "";
    bool is_quoted = strpbrk(at, ",\"") != NULL;
    if (is_quoted)
        wp_buffer_putc(out, '"');
    for (; *at; at++) {
        if (*at == '"')
            wp_buffer_putc(out, '"');
        wp_buffer_putc(out, *at);
    }
    if (is_quoted)
        wp_buffer_putc(out, '"');
    out->failed |= clean.failed;
    wp_buffer_fini(&clean);
}

void wp_escape_url(struct wp_buffer *out, const char *text)
{
    struct wp_buffer clean = {0};
    wp_escape_utf8(&clean, text);
    for (size_t i = 0; i < clean.size; i++) {
        char c = (char)clean.data[i];
        bool plain =
            (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("-._~", c));
        if (plain)
            wp_buffer_putc(out, c);
        else
            wp_buffer_printf(out, "%%%02X", (unsigned)clean.data[i]);
    }
    out->failed |= clean.failed;
    wp_buffer_fini(&clean);
}

void wp_escape_folded(struct wp_buffer *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        uint32_t c = next_char(&at);
        if (c == ';')
            c = ',';
        else if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0x2028 || c == 0x2029)
            c = '?';
        put_char(out, c);
    }
}

void wp_escape_text(struct wp_buffer *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at)
        put_char(out, visible(next_char(&at)));
}

size_t wp_escape_width(const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    size_t width = 0;
    for (; *at; width++)
        next_char(&at);
    return width;
}
