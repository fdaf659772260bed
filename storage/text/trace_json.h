/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TEXT_TRACE_JSON_H
#define WP_STORAGE_TEXT_TRACE_JSON_H
/* Bodies of traces and exemplars as JSON. */
#include "storage/text/json_parts.h"

/* Members of the object that is being written. Errors as wp_trace_decode, before anything is written. */
int wp_trace_json(struct wp_json *json, const struct wp_buffer *raw, struct wp_error *err);
/* One member, the array of windows. After an error (-EBADMSG, -ENOMEM) what has been written is to be dropped. */
int wp_exemplars_json(struct wp_json *json, const struct wp_buffer *raw, struct wp_error *err);

#endif
