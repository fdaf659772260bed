/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EXPORT_STACK_CHOICE_H
#define WP_REPORTER_EXPORT_STACK_CHOICE_H
/* Which pseudo-stacks an export of stacks has: those with so much of a measure, or the greatest of it. */
#include "reporter/export/export_table.h"

struct wp_flame;

/* The measures of a pseudo-stack: "ns" (also NULL) or "count". */
bool wp_stack_choice_has_measure(const char *name);
/* Takes the cells that are not chosen out of the flame; nodes stay, with their sums. Without a limit and a bound it
 * changes nothing. `total_ns` is what a share is of. -ENOMEM: the flame is as it was. */
int wp_stack_choice_apply(
    struct wp_flame *flame, const struct wp_export_choice *choice, uint64_t total_ns, struct wp_error *err);
/* The cells of the flame, the greatest first by the order of the choice; without one as they stand. The caller's to
 * free; NULL: out of memory. */
uint32_t *wp_stack_choice_order(const struct wp_flame *flame, const struct wp_export_choice *choice);

#endif
