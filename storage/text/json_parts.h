/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TEXT_JSON_PARTS_H
#define WP_STORAGE_TEXT_JSON_PARTS_H
/* How values become JSON objects: the pieces that value_json.c, report_json.c and trace_json.c are made of. */
#include "common/buffer.h"
#include "common/error.h"
#include "common/json.h"
#include "storage/report/head.h"
#include "storage/value/value.h"

#include <json-c/json.h>
#include <protobuf-c/protobuf-c.h>

/* Writes the value, which may be NULL. */
void wp_json_tree(struct wp_json *json, const char *key, struct json_object *value);
void wp_json_put(struct json_object *object, const char *name, struct json_object *value);
void wp_json_put_number(struct json_object *object, const char *name, uint64_t number);
void wp_json_put_text(struct json_object *object, const char *name, const char *text);
void wp_json_put_bytes(struct json_object *object, const char *name, ProtobufCBinaryData bytes);
void wp_json_put_hex(struct json_object *object, const char *name, ProtobufCBinaryData bytes);
/* Adds an array called `name` to the object, or an object to an array. */
struct json_object *wp_json_put_rows(struct json_object *object, const char *name);
struct json_object *wp_json_add_row(struct json_object *rows);
struct json_object *wp_head_json(const struct wp_head *head, bool is_trace);

/* The head of a report or trace as an object; NULL when there is none or it is damaged. */
struct json_object *wp_value_head_json(const struct wp_value *value);
/* A JSON string of any bytes: what is not UTF-8 becomes U+FFFD. */
struct json_object *wp_json_string(const char *bytes, size_t size);
/* "name: value" lines; an array of objects is a line a row. Control bytes are shown as \xNN. */
void wp_json_print(struct wp_buffer *out, struct json_object *object);

#endif
