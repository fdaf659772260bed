/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_PATTERN_HERD_H
#define WP_REPORTER_FINDINGS_PATTERN_HERD_H
/* Many processes or threads that one event wakes, for one of them to take it: of work that nobody waited for. */
#include "reporter/facts/facts.h"

/* Whether `name`, who had processors that the process of interest waited for, is such a herd that its requests wake.
 * Without a key it is not. Out of memory shows in facts->pool.failed. */
struct wp_pattern wp_pattern_of_herd(struct wp_facts *facts, const char *name);

#endif
