/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_H
/*
 * The explanation: an interval of a thread's time is cut into pieces without gap or overlap, each with a pseudo-stack
 * and a category. A run is its samples; a sleep is what it waited for: the waker's time walked back from the waking to
 * the sleep's start, with the waker's own sleeps explained the same way (after "A Recursive Systemic Profiler",
 * section 5.2). docs/engine.md has the rules and where they differ from the paper.
 */
#include "aggregator/explain/explain_types.h"

int wp_explainer_init(struct wp_explainer *explainer, struct wp_fleet *fleet, uint32_t home, struct wp_pathtree *tree);
void wp_explainer_fini(struct wp_explainer *explainer);
/* Accounts for the interval on a fresh control path: all that it leads to goes to the sink, pieces latest first.
 * -ENODATA: its host has left, or its clock has not been compared with home's. */
int wp_explain(struct wp_explainer *explainer, const struct wp_interval *interval, const struct wp_sink *sink);
/* The same of a path that others wait for: base time in it is left out. */
int wp_explain_path(struct wp_explainer *explainer, const struct wp_interval *interval, const struct wp_sink *sink);
/* The same of a thread of home, and an interval that lies in that slice. */
void wp_explain_slice(
    struct wp_explainer *explainer, const struct wp_interval *interval, uint64_t slice, const struct wp_sink *sink);

#endif
