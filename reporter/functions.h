/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FUNCTIONS_H
#define WP_REPORTER_FUNCTIONS_H
/* Time by function: inclusive (once a stack, however deep the recursion) and exclusive, running and waiting apart. */
#include "reporter/facts.h"

/* Fills facts->functions, largest inclusive time first. Out of memory shows in facts->pool.failed. */
void wp_functions_build(struct wp_facts *facts);

#endif
