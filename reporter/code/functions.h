/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CODE_FUNCTIONS_H
#define WP_REPORTER_CODE_FUNCTIONS_H
/* Time by function: inclusive (once a stack, however deep the recursion) and exclusive, running and waiting apart. */
#include "reporter/facts/facts.h"

/* Fills facts->functions, largest inclusive time first. Out of memory shows in facts->pool.failed. */
void wp_functions_build(struct wp_facts *facts);

/* Place of the function with most time of that name, which must be a text of the facts' report; SIZE_MAX none. */
size_t wp_functions_find(const struct wp_facts *facts, const char *name);

#endif
