/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_TEXT_REPORT_JSON_H
#define WP_STORAGE_TEXT_REPORT_JSON_H
/* A report's body as JSON. */
#include "storage/text/json_parts.h"

/* The content of a body, as members of the object that is being written. -EBADMSG, -ENOMEM. */
int wp_report_json(struct wp_json *json, const struct wp_buffer *raw, struct wp_error *err);

#endif
