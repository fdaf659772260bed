/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/text/json_parts.h"

#include "common/hex.h"
#include "common/utf8.h"
#include "storage/kind/shard_store.h"

#include <errno.h>
#include <string.h>

#define HEX_ROOM (2 * 64 + 1)

struct json_object *wp_json_string(const char *bytes, size_t size)
{
    struct wp_buffer clean = {0};
    wp_utf8_clean(&clean, bytes, size);
    struct json_object *text = json_object_new_string_len(clean.data ? (const char *)clean.data : "", (int)clean.size);
    wp_buffer_fini(&clean);
    return text;
}

static void put_container(struct wp_json *json, const char *key, struct json_object *value)
{
    if (json_object_is_type(value, json_type_array)) {
        wp_json_array(json, key);
        for (size_t i = 0; i < json_object_array_length(value); i++)
            wp_json_tree(json, NULL, json_object_array_get_idx(value, i));
    } else {
        wp_json_object(json, key);
        json_object_object_foreach(value, name, member) wp_json_tree(json, name, member);
    }
    wp_json_end(json);
}

void wp_json_tree(struct wp_json *json, const char *key, struct json_object *value)
{
    switch (json_object_get_type(value)) {
    case json_type_array:
    case json_type_object:
        put_container(json, key, value);
        break;
    case json_type_string:
        wp_json_bytes(json, key, json_object_get_string(value), (size_t)json_object_get_string_len(value));
        break;
    default: /* numbers, booleans and null are the same however they are written */
        wp_json_raw(json, key, "%s", json_object_to_json_string_ext(value, JSON_C_TO_STRING_PLAIN));
    }
}

void wp_json_put(struct json_object *object, const char *name, struct json_object *value)
{
    json_object_object_add(object, name, value);
}

void wp_json_put_number(struct json_object *object, const char *name, uint64_t number)
{
    wp_json_put(object, name, json_object_new_uint64(number));
}

void wp_json_put_text(struct json_object *object, const char *name, const char *text)
{
    wp_json_put(object, name, wp_json_string(text, strlen(text)));
}

static const char *hex_of(char hex[HEX_ROOM], ProtobufCBinaryData bytes)
{
    wp_hex(hex, bytes.data, bytes.len < HEX_ROOM / 2 ? bytes.len : HEX_ROOM / 2);
    return hex;
}

void wp_json_put_hex(struct json_object *object, const char *name, ProtobufCBinaryData bytes)
{
    char hex[HEX_ROOM];
    wp_json_put(object, name, json_object_new_string(hex_of(hex, bytes)));
}

struct json_object *wp_json_put_rows(struct json_object *object, const char *name)
{
    struct json_object *rows = json_object_new_array();
    wp_json_put(object, name, rows);
    return rows;
}

struct json_object *wp_json_add_row(struct json_object *rows)
{
    struct json_object *row = json_object_new_object();
    json_object_array_add(rows, row);
    return row;
}

/* --- streamed --- */

void wp_json_data(struct wp_json *json, const char *key, ProtobufCBinaryData bytes)
{
    wp_json_bytes(json, key, (const char *)bytes.data, bytes.len);
}

void wp_json_hex(struct wp_json *json, const char *key, ProtobufCBinaryData bytes)
{
    char hex[HEX_ROOM];
    wp_json_text(json, key, hex_of(hex, bytes));
}

void wp_head_json(struct wp_json *json, const char *key, const struct wp_head *head, bool is_trace)
{
    wp_json_object(json, key);
    wp_json_number(json, "first_ns", head->first_ns);
    wp_json_number(json, "last_ns", head->last_ns);
    wp_json_number(json, "wall_ns", head->wall_ns);
    wp_json_number(json, "total_ns", head->total_ns);
    wp_json_object(json, "categories");
    for (int i = 0; i < WP_CATEGORIES; i++)
        wp_json_number(json, wp_category_key((enum wp_category)i), head->category_ns[i]);
    wp_json_end(json);
    wp_json_number(json, "nodes", head->nodes);
    if (is_trace) {
        wp_json_number(json, "pieces", head->pieces);
    } else {
        wp_json_number(json, "hosts", head->hosts);
        wp_json_number(json, "processes", head->processes);
        wp_json_number(json, "events", head->events);
        wp_json_number(json, "dropped", head->dropped);
    }
    if (!is_trace && head->timebox_length_s)
        wp_json_number(json, "timebox_length_s", head->timebox_length_s);
    wp_json_end(json);
}

static void put_shard_head(struct wp_json *json, const char *key, const struct wp_value *value)
{
    uint8_t origin[16];
    wp_json_object(json, key);
    if (!wp_shard_origin_of(value, origin))
        wp_json_hex(json, "origin", (ProtobufCBinaryData){16, origin});
    wp_json_end(json);
}

void wp_value_head_json(struct wp_json *json, const char *key, const struct wp_value *value)
{
    struct wp_head head;
    if (value->kind == WP_VALUE_SHARD)
        put_shard_head(json, key, value);
    else if (!value->head_size || wp_head_decode(&head, value->head, value->head_size, NULL))
        wp_json_text_or_null(json, key, NULL);
    else
        wp_head_json(json, key, &head, value->kind == WP_VALUE_TRACE);
}

/* --- for people --- */

static void print_text(struct wp_buffer *out, const char *text, size_t size)
{
    for (size_t i = 0, step; i < size; i += step) {
        uint32_t c;
        step = wp_utf8_decode(text + i, size - i, &c);
        step += !step;
        for (size_t j = i; j < i + step; j++)
            if (wp_utf8_is_control(c))
                wp_buffer_printf(out, "\\x%02x", (unsigned char)text[j]);
            else
                wp_buffer_putc(out, text[j]);
    }
}

static void print_name(struct wp_buffer *out, const char *name)
{
    print_text(out, name, strlen(name));
}

static void print_scalar(struct wp_buffer *out, struct json_object *value)
{
    if (json_object_is_type(value, json_type_string))
        print_text(out, json_object_get_string(value), (size_t)json_object_get_string_len(value));
    else
        wp_json_tree(&(struct wp_json){.out = out}, NULL, value);
}

/* One line, the last value to its end so that it may hold spaces. */
static void print_row(struct wp_buffer *out, struct json_object *row)
{
    const char *separator = "  ";
    json_object_object_foreach(row, name, value)
    {
        wp_buffer_puts(out, separator);
        print_name(out, name);
        wp_buffer_putc(out, '=');
        print_scalar(out, value);
        separator = " ";
    }
    wp_buffer_putc(out, '\n');
}

static void print_fields(struct wp_buffer *out, struct json_object *object, int indent)
{
    json_object_object_foreach(object, name, value)
    {
        wp_buffer_printf(out, "%*s", indent, "");
        print_name(out, name);
        if (json_object_is_type(value, json_type_array)) {
            size_t count = json_object_array_length(value);
            wp_buffer_printf(out, " (%zu)\n", count);
            for (size_t i = 0; i < count; i++)
                print_row(out, json_object_array_get_idx(value, i));
        } else if (json_object_is_type(value, json_type_object)) {
            wp_buffer_putc(out, '\n');
            print_fields(out, value, indent + 2);
        } else {
            wp_buffer_puts(out, ": ");
            print_scalar(out, value);
            wp_buffer_putc(out, '\n');
        }
    }
}

void wp_json_print(struct wp_buffer *out, struct json_object *object)
{
    print_fields(out, object, 0);
}

int wp_json_print_text(struct wp_buffer *out, const struct wp_buffer *json, struct wp_error *err)
{
    struct json_object *object = json->failed ? NULL : json_tokener_parse((const char *)json->data);
    if (!object)
        return wp_error_set(err, -ENOMEM, "out of memory for JSON");
    print_fields(out, object, 0);
    json_object_put(object);
    return 0;
}
