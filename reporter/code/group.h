/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CODE_GROUP_H
#define WP_REPORTER_CODE_GROUP_H
/*
 * Sums over the stacks of a report: which of them count, and what they are put together by. A stack is made of layers,
 * each a process with its functions; it counts when one of its layers fits process, host and function at once, and its
 * category is asked for. All that stands on that layer counts with it: that is what the layer waited for. Not thread
 * safe.
 */
#include "reporter/code/group_types.h"
#include "reporter/facts/facts.h"

/* "process" ...; -1 for an unknown one. */
int wp_group_by_find(const char *name);
/* The name that wp_group_by_find takes; `by` must be below WP_BYS. */
const char *wp_group_by_name(enum wp_group_by by);
/* "own", "total", "run", "wait", "pieces", "each"; -1 for an unknown one. */
int wp_group_measure_find(const char *name);
/* The most of it first, in place of the most time on top. How many rows, from the first on, have as much as the limit
 * asks for. */
size_t wp_group_sort_by(struct wp_group *group, const struct wp_group_order *order);
/* What the measure is of a row: ns, or pieces. */
uint64_t wp_group_measured(const struct wp_group_row *row, enum wp_group_measure measure);
/* -ENOMEM. */
int wp_group_build(struct wp_group *group, const struct wp_facts *facts, const struct wp_group_filter *filter,
    enum wp_group_by by, struct wp_error *err);
/* Frees rows and texts; a zeroed group is allowed. */
void wp_group_fini(struct wp_group *group);

#endif
