/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/display/escape.h"

#include "common/utf8.h"

#include <stdbool.h>
#include <string.h>

/* Decodes one character at *text and steps over it; U+FFFD for a byte that starts none. */
static uint32_t next_char(const char **text)
{
    uint32_t c;
    size_t size = wp_utf8_decode(*text, WP_UTF8_MOST, &c);
    *text += size ? size : 1;
    return c;
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
    return (c >= 0x80 && c < 0xa0) || turns_writing(c) || c == 0xfeff ? WP_UTF8_REPLACEMENT : c;
}

void wp_escape_utf8(struct wp_buffer *out, const char *text)
{
    wp_utf8_clean(out, text, strlen(text));
}

void wp_escape_html(struct wp_buffer *out, const char *text)
{
    const char *at = text;
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
            wp_utf8_put(out, c);
    }
}

void wp_escape_js(struct wp_buffer *out, const char *text)
{
    const char *at = text;
    wp_buffer_putc(out, '"');
    while (*at) {
        uint32_t c = visible(next_char(&at));
        if (c == '"' || c == '\\')
            wp_buffer_printf(out, "\\%c", (char)c);
        else if (c == '<' || c == '>' || c == '&' || c == '\'')
            wp_buffer_printf(out, "\\u%04x", c);
        else
            wp_utf8_put(out, c);
    }
    wp_buffer_putc(out, '"');
}

void wp_escape_json(struct wp_buffer *out, const char *text)
{
    const char *at = text;
    wp_buffer_putc(out, '"');
    while (*at) {
        uint32_t c = next_char(&at);
        if (c == '"' || c == '\\')
            wp_buffer_printf(out, "\\%c", (char)c);
        else if (wp_utf8_is_control(c) || c == 0x2028 || c == 0x2029)
            wp_buffer_printf(out, "\\u%04x", c);
        else
            wp_utf8_put(out, c);
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
    const char *at = text;
    while (*at) {
        uint32_t c = next_char(&at);
        if (c == ';')
            c = ',';
        else if (wp_utf8_is_control(c) || c == 0x2028 || c == 0x2029)
            c = '?';
        wp_utf8_put(out, c);
    }
}

void wp_escape_text(struct wp_buffer *out, const char *text)
{
    const char *at = text;
    while (*at)
        wp_utf8_put(out, visible(next_char(&at)));
}

size_t wp_escape_width(const char *text)
{
    const char *at = text;
    size_t width = 0;
    for (; *at; width++)
        next_char(&at);
    return width;
}
