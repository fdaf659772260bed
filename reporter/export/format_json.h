/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_JSON_H
#define WP_REPORTER_EXPORT_FORMAT_JSON_H
/* The facts as summary.json, schema 1 (docs/contract.md): keys are only ever added. */
#include "reporter/facts/facts.h"

/* Appends the document to `out`. -ENOMEM. */
int wp_format_json(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);

#endif
