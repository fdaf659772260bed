/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_JSON_H
#define WP_REPORTER_EXPORT_FORMAT_JSON_H
/* The facts as summary.json, schema 1 (docs/contract.md): keys are only ever added. */
#include "reporter/facts/facts.h"

/* Appends the document to `out`. -ENOMEM. */
int wp_format_json(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);
/* The same with the facts' findings as they are after a look at an older release (wp_findings_since); NULL: the facts'
 * own. */
int wp_format_summary(
    struct wp_buffer *out, const struct wp_facts *facts, const struct wp_finding *findings, struct wp_error *err);

#endif
