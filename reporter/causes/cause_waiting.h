/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_CAUSE_WAITING_H
#define WP_REPORTER_CAUSES_CAUSE_WAITING_H
/* Where the program of interest waits while another thread or process does what the cause is about. */
#include "reporter/causes/causes.h"

/* The sleep, at a known place, of the innermost layer below the cause that is of the process of interest by its name:
 * of all such functions the one with most of the cause's time, there where most of it is; 0 none. *ns: of that place.
 * Out of memory shows in facts->pool.failed. */
uint32_t wp_cause_waiting(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row, uint64_t *ns);
/* Where another thread of the process waits, in a function of the program, for the one that waits at that place: the
 * outermost sleep of its pseudo-stack. 0: none, or where all begins. */
uint32_t wp_cause_waiting_outer(
    const struct wp_causes *causes, const struct wp_facts *facts, uint32_t base, uint32_t waiting);

#endif
