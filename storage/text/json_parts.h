/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TEXT_JSON_PARTS_H
#define WP_STORAGE_TEXT_JSON_PARTS_H
/* How values become JSON objects: the pieces that value_json.c, report_json.c and trace_json.c are made of. */
#include "common/buffer.h"
#include "common/error.h"
#include "storage/report/head.h"
#include "storage/text/value_json.h"

#include <json-c/json.h>
#include <protobuf-c/protobuf-c.h>

void wp_json_put(struct json_object *object, const char *name, struct json_object *value);
void wp_json_put_number(struct json_object *object, const char *name, uint64_t number);
void wp_json_put_text(struct json_object *object, const char *name, const char *text);
void wp_json_put_bytes(struct json_object *object, const char *name, ProtobufCBinaryData bytes);
void wp_json_put_hex(struct json_object *object, const char *name, ProtobufCBinaryData bytes);
/* Adds an array called `name` to the object, or an object to an array. */
struct json_object *wp_json_put_rows(struct json_object *object, const char *name);
struct json_object *wp_json_add_row(struct json_object *rows);
struct json_object *wp_head_json(const struct wp_head *head, bool is_trace);
/* The content of a body, added to the object. -EBADMSG. */
int wp_report_json(struct json_object *object, const struct wp_buffer *raw, struct wp_error *err);
int wp_trace_json(struct json_object *object, const struct wp_buffer *raw, struct wp_error *err);
int wp_exemplars_json(struct json_object *object, const struct wp_buffer *raw, struct wp_error *err);

#endif
