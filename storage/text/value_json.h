/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TEXT_VALUE_JSON_H
#define WP_STORAGE_TEXT_VALUE_JSON_H
/* The content of any value as JSON: what `wakepath-store cat` prints. */
#include "storage/value/keys.h"
#include "storage/value/value.h"

struct wp_json;

/* One object; after an error, that the body is not what it should be, what has been written of it is to be dropped. */
int wp_value_json(struct wp_json *json, const struct wp_key *key, const struct wp_value *value,
    const struct wp_buffer *raw, struct wp_error *err);

#endif
