/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_ORDER_H
#define WP_REPORTER_COMPARE_COMPARE_ORDER_H
/* Which rows of a comparison are shown, and in which order. The verdicts are the same whatever is shown. */
#include "reporter/compare/compare_types.h"

/* -1: there is no such measure. "sure", "difference", "percent", "old", "new" */
int wp_compare_measure_find(const char *name);
/* Orders the rows of each family and leaves out those below the limit and behind the first ones; what got worse stays.
 * The whole's rows stay as they are. After wp_compare_build. */
void wp_compare_arrange(struct wp_compare *compare, const struct wp_compare_order *order);

#endif
