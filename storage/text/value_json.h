/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TEXT_VALUE_JSON_H
#define WP_STORAGE_TEXT_VALUE_JSON_H
/* The content of any value as JSON, and JSON as indented text for people: what `wakepath-store cat` prints. */
#include "storage/value/keys.h"
#include "storage/value/value.h"

struct json_object;

/* A new object; NULL when out of memory or when the body is not what it should be (then `err` says so). */
struct json_object *wp_value_json(
    const struct wp_key *key, const struct wp_value *value, const struct wp_buffer *raw, struct wp_error *err);

#endif
