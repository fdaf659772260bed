/* SPDX-License-Identifier: Apache-2.0 */
#include "common/json.h"

#include "common/utf8.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void put_escaped(struct wp_buffer *out, uint32_t c)
{
    static const char short_of[] = "b\bf\fn\nr\rt\t\"\"\\\\";
    for (const char *at = short_of; *at && c < 0x7f; at += 2)
        if ((unsigned char)at[1] == c) {
            wp_buffer_printf(out, "\\%c", *at);
            return;
        }
    if (wp_utf8_is_control(c))
        wp_buffer_printf(out, "\\u%04x", (unsigned)c);
    else
        wp_utf8_put(out, c);
}

static void put_bytes(struct wp_buffer *out, const char *bytes, size_t size)
{
    wp_buffer_putc(out, '"');
    for (size_t i = 0, step; i < size; i += step ? step : 1) {
        uint32_t c;
        step = wp_utf8_decode(bytes + i, size - i, &c);
        put_escaped(out, c);
    }
    wp_buffer_putc(out, '"');
}

static void put_text(const struct wp_json *json, const char *text)
{
    if (json->put_text)
        json->put_text(json->out, text);
    else
        put_bytes(json->out, text, strlen(text));
}

/* --- places --- */

static uint64_t bit_of(const struct wp_json *json)
{
    return (uint64_t)1 << (json->depth - 1);
}

static void put_line(struct wp_json *json)
{
    if (json->style != WP_JSON_PLAIN)
        wp_buffer_printf(json->out, "\n%*s", 2 * (int)json->depth, "");
    else if (json->has_line)
        wp_buffer_putc(json->out, '\n');
    json->has_line = false;
}

/* The comma, the line and the key before a value. */
static void begin_value(struct wp_json *json, const char *key)
{
    assert(json->depth ? !key == !!(json->is_array & bit_of(json)) : !key);
    if (!json->depth)
        return;
    if (json->has_member & bit_of(json))
        wp_buffer_putc(json->out, ',');
    json->has_member |= bit_of(json);
    put_line(json);
    if (!key)
        return;
    put_text(json, key);
    wp_buffer_puts(json->out, json->style == WP_JSON_SPACED ? ": " : ":");
}

static void begin(struct wp_json *json, const char *key, bool is_array)
{
    begin_value(json, key);
    assert(json->depth < WP_JSON_DEPTH);
    json->depth++;
    json->has_member &= ~bit_of(json);
    json->is_array = is_array ? json->is_array | bit_of(json) : json->is_array & ~bit_of(json);
    wp_buffer_putc(json->out, is_array ? '[' : '{');
}

void wp_json_object(struct wp_json *json, const char *key)
{
    begin(json, key, false);
}

void wp_json_array(struct wp_json *json, const char *key)
{
    begin(json, key, true);
}

void wp_json_end(struct wp_json *json)
{
    assert(json->depth);
    bool is_array = json->is_array & bit_of(json), has_member = json->has_member & bit_of(json);
    json->depth--;
    bool is_lined = is_array && json->style != WP_JSON_PLAIN; /* so is an empty array */
    if (has_member || json->has_line || is_lined)
        put_line(json);
    wp_buffer_putc(json->out, is_array ? ']' : '}');
}

void wp_json_line(struct wp_json *json)
{
    json->has_line = true;
}

/* --- values --- */

void wp_json_text(struct wp_json *json, const char *key, const char *text)
{
    begin_value(json, key);
    put_text(json, text);
}

void wp_json_text_or_null(struct wp_json *json, const char *key, const char *text)
{
    if (text)
        wp_json_text(json, key, text);
    else
        wp_json_raw(json, key, "null");
}

void wp_json_bytes(struct wp_json *json, const char *key, const char *bytes, size_t size)
{
    begin_value(json, key);
    put_bytes(json->out, bytes, size);
}

void wp_json_number(struct wp_json *json, const char *key, uint64_t number)
{
    wp_json_raw(json, key, "%" PRIu64, number);
}

void wp_json_bool(struct wp_json *json, const char *key, bool value)
{
    wp_json_raw(json, key, value ? "true" : "false");
}

void wp_json_fixed(struct wp_json *json, const char *key, double value)
{
    char text[400];
    int size = isfinite(value) ? snprintf(text, sizeof(text), "%.6f", value) : snprintf(text, sizeof(text), "null");
    while (isfinite(value) && text[size - 1] == '0' && text[size - 2] != '.')
        text[--size] = 0;
    wp_json_raw(json, key, "%s", text);
}

void wp_json_real(struct wp_json *json, const char *key, double value)
{
    char text[48];
    snprintf(text, sizeof(text), "%.9g", value);
    wp_json_raw(json, key, "%s", isfinite(value) ? text : "null");
}

void wp_json_exact(struct wp_json *json, const char *key, double value)
{
    char text[48];
    int size = snprintf(text, sizeof(text) - 2, "%.17g", value);
    if (!strpbrk(text, ".e"))
        memcpy(text + size, ".0", 3);
    wp_json_raw(json, key, "%s", isfinite(value) ? text : "null");
}

void wp_json_raw(struct wp_json *json, const char *key, const char *format, ...)
{
    char text[512];
    va_list args;
    begin_value(json, key);
    va_start(args, format);
    int size = vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    assert(size >= 0 && (size_t)size < sizeof(text));
    wp_buffer_append(json->out, text, (size_t)size);
}

int wp_json_finish(struct wp_json *json, const char *what, struct wp_error *err)
{
    assert(!json->depth);
    wp_buffer_putc(json->out, '\n');
    return json->out->failed ? wp_error_set(err, -ENOMEM, "out of memory for %s", what) : 0;
}
