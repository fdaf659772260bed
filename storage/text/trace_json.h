/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TEXT_TRACE_JSON_H
#define WP_STORAGE_TEXT_TRACE_JSON_H
/* Bodies of traces and exemplars as JSON. */
#include "storage/text/json_parts.h"

int wp_trace_json(struct wp_json *json, const struct wp_buffer *raw, struct wp_error *err);
int wp_exemplars_json(struct wp_json *json, const struct wp_buffer *raw, struct wp_error *err);

#endif
