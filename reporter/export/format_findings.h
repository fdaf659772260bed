/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_FORMAT_FINDINGS_H
#define WP_REPORTER_EXPORT_FORMAT_FINDINGS_H
/* Findings as JSON: the same sentences that pages and text have, with their figures. */
#include "common/json.h"
#include "reporter/facts/facts.h"

/* Which aggregate a finding is of. */
struct wp_finding_origin {
    const char *release, *aggregate;
    uint64_t total_ns;
};

/* The keys of one, into an object that is open. */
void wp_format_finding(struct wp_json *json, const struct wp_finding_origin *origin, const struct wp_finding *finding);
/* An array of the `limit` largest. rows: the facts', as many; after a look at an older release if there is one
 * (wp_findings_since). */
void wp_format_findings(
    struct wp_json *json, const char *key, const struct wp_facts *facts, const struct wp_finding *rows, size_t limit);

#endif
