/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_FINDINGS_H
#define WP_REPORTER_FINDINGS_FINDINGS_H
/*
 * What a reader should know first, in plain sentences made from the facts: causes with their places (causes.h), whose
 * other time it is, and what stayed unexplained. No two tell the same time, but for what makes slow requests slow.
 */
#include "reporter/facts/facts.h"

/* Fills facts->findings, the largest first. Out of memory shows in facts->pool.failed. */
void wp_findings_build(struct wp_facts *facts);
/* Indices of the findings that open a page: the three largest, with the unexplained one in their place when it counts
 * for a fiftieth of the total or more. Returns how many. */
size_t wp_findings_first(const struct wp_facts *facts, size_t first[3]);

#endif
