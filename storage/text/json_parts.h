/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TEXT_JSON_PARTS_H
#define WP_STORAGE_TEXT_JSON_PARTS_H
/*
 * What JSON of values is made of. Values, which may be large, are streamed (value_json.h); results of wakepath-store's
 * commands are small trees, since they are printed for people as well.
 */
#include "common/buffer.h"
#include "common/error.h"
#include "common/json.h"
#include "storage/report/head.h"
#include "storage/value/value.h"

#include <json-c/json.h>
#include <protobuf-c/protobuf-c.h>

/* Writes the value, which may be NULL. */
void wp_json_tree(struct wp_json *json, const char *key, struct json_object *value);
/* Puts or replaces a member of the object, which takes over the reference to `value`; NULL is null. */
void wp_json_put(struct json_object *object, const char *name, struct json_object *value);
/* All 64 bits of it. */
void wp_json_put_number(struct json_object *object, const char *name, uint64_t number);
/* `text` ends with NUL and is not NULL; as wp_json_string has it. */
void wp_json_put_text(struct json_object *object, const char *name, const char *text);
/* The first 64 of them. */
void wp_json_put_hex(struct json_object *object, const char *name, ProtobufCBinaryData bytes);
/* Adds an array called `name` to the object, or an object to an array. */
struct json_object *wp_json_put_rows(struct json_object *object, const char *name);
/* The row belongs to `rows`. */
struct json_object *wp_json_add_row(struct json_object *rows);

/* Streamed: bytes as text, bytes as hexadecimal digits. */
void wp_json_data(struct wp_json *json, const char *key, ProtobufCBinaryData bytes);
/* The first 64 of them, as wp_json_put_hex. */
void wp_json_hex(struct wp_json *json, const char *key, ProtobufCBinaryData bytes);
/* An object of the head's fields under `key`; `is_trace`: those that a trace has. */
void wp_head_json(struct wp_json *json, const char *key, const struct wp_head *head, bool is_trace);
/* The head of a report or trace; null when there is none or it is damaged. */
void wp_value_head_json(struct wp_json *json, const char *key, const struct wp_value *value);

/* A JSON string of any bytes: what is not UTF-8 becomes U+FFFD. */
struct json_object *wp_json_string(const char *bytes, size_t size);
/* "name: value" lines; an array of objects is a line a row. Control bytes are shown as \xNN. */
void wp_json_print(struct wp_buffer *out, struct json_object *object);
/* The same of an object that has been written as JSON. -ENOMEM. */
int wp_json_print_text(struct wp_buffer *out, const struct wp_buffer *json, struct wp_error *err);

#endif
