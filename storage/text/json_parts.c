/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/text/json_parts.h"

#include "common/utf8.h"
#include "storage/kind/shard_store.h"

#include <stdio.h>
#include <string.h>

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

void wp_json_put_bytes(struct json_object *object, const char *name, ProtobufCBinaryData bytes)
{
    wp_json_put(object, name, wp_json_string((const char *)bytes.data, bytes.len));
}

void wp_json_put_hex(struct json_object *object, const char *name, ProtobufCBinaryData bytes)
{
    char hex[129] = "";
    for (size_t i = 0; i < bytes.len && i < 64; i++)
        snprintf(hex + 2 * i, 3, "%02x", bytes.data[i]);
    wp_json_put(object, name, json_object_new_string(hex));
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

struct json_object *wp_head_json(const struct wp_head *head, bool is_trace)
{
    struct json_object *object = json_object_new_object(), *categories = json_object_new_object();
    wp_json_put_number(object, "first_ns", head->first_ns);
    wp_json_put_number(object, "last_ns", head->last_ns);
    wp_json_put_number(object, "wall_ns", head->wall_ns);
    wp_json_put_number(object, "total_ns", head->total_ns);
    for (int i = 0; i < WP_CATEGORIES; i++)
        wp_json_put_number(categories, wp_category_key((enum wp_category)i), head->category_ns[i]);
    wp_json_put(object, "categories", categories);
    wp_json_put_number(object, "nodes", head->nodes);
    if (is_trace) {
        wp_json_put_number(object, "pieces", head->pieces);
        return object;
    }
    wp_json_put_number(object, "hosts", head->hosts);
    wp_json_put_number(object, "processes", head->processes);
    wp_json_put_number(object, "events", head->events);
    wp_json_put_number(object, "dropped", head->dropped);
    if (head->timebox_length_s)
        wp_json_put_number(object, "timebox_length_s", head->timebox_length_s);
    return object;
}

struct json_object *wp_value_head_json(const struct wp_value *value)
{
    struct wp_head head;
    if (value->kind == WP_VALUE_SHARD) {
        uint8_t origin[16];
        struct json_object *object = json_object_new_object();
        if (!wp_shard_origin_of(value, origin))
            wp_json_put_hex(object, "origin", (ProtobufCBinaryData){16, origin});
        return object;
    }
    if (!value->head_size || wp_head_decode(&head, value->head, value->head_size, NULL))
        return NULL;
    return wp_head_json(&head, value->kind == WP_VALUE_TRACE);
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
