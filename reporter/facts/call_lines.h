/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_CALL_LINES_H
#define WP_REPORTER_FACTS_CALL_LINES_H
/* The line of source that a function on a stack stands at, as far as lines are known: by the names of the function and
 * of what it called, since a report sums its lines so. */
#include "reporter/facts/source_lines.h"

struct wp_call_lines;

/* Borrows the lines. -ENOMEM. */
int wp_call_lines_create(struct wp_call_lines **lines, const struct wp_source_lines *source);
/* NULL is allowed. */
void wp_call_lines_destroy(struct wp_call_lines *lines);
/* The line of `function` with most time in calls of `callee`; NULL, or where no line calls it: with most time of its
 * own. 0: no line of it is known. */
uint32_t wp_call_line(const struct wp_call_lines *lines, const char *function, const char *callee);

#endif
