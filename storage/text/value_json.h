/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TEXT_VALUE_JSON_H
#define WP_STORAGE_TEXT_VALUE_JSON_H
/* The content of any value as JSON, and JSON as indented text for people: what `wakepath-store cat` prints. */
#include "storage/value/keys.h"
#include "storage/value/value.h"

struct json_object;

/* A new object; NULL when out of memory or when the body is not what it should be (then `err` says so). */
struct json_object *wp_value_json(const struct wp_key *key, const struct wp_value *value, const struct wp_buffer *raw,
    struct wp_error *err);
/* The head of a report or trace as an object; NULL when there is none or it is damaged. */
struct json_object *wp_value_head_json(const struct wp_value *value);
/* A JSON string of any bytes: what is not UTF-8 becomes U+FFFD. */
struct json_object *wp_json_text(const char *bytes, size_t size);
/* "name: value" lines; an array of objects is a line a row. Control bytes are shown as \xNN. */
void wp_json_print(struct wp_buffer *out, struct json_object *object);

#endif
