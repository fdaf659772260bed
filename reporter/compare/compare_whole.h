/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_WHOLE_H
#define WP_REPORTER_COMPARE_COMPARE_WHOLE_H
/*
 * The rows of the whole: the wall time of commands, and the rate and latencies of requests where both sides have them.
 * docs/compare.md, "The whole".
 */
#include "reporter/compare/compare_build.h"

/* Fills and tests the rows of WP_CHANGE_WHOLE; those of hops are filled and tested. -ENOMEM. */
int wp_compare_whole(struct wp_compare_build *build);
/* Says whether the whole is surely worse; the rows' p are adjusted. */
void wp_compare_judge_whole(struct wp_compare *compare);

#endif
