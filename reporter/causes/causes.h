/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_CAUSES_H
#define WP_REPORTER_CAUSES_CAUSES_H
/*
 * The flame's time by what caused it. Each cell has one cause at most: what stands lowest on its pseudo-stack, for all
 * above is how that came about. Equal causes at one place of the application are one.
 */
#include "reporter/causes/cause_types.h"

/* Out of memory shows in facts->pool.failed. */
void wp_causes_build(struct wp_causes *causes, struct wp_facts *facts);
/* Whether the process of interest itself sleeps there, whatever its thread is called. */
bool wp_cause_is_own(const struct wp_facts *facts, const struct wp_cause_fact *cause);
/* Whether that sleep is for what another process sends or does, whatever that one is called. */
bool wp_cause_is_asking(const struct wp_facts *facts, uint32_t sleep);
/* Whether a process of that node's name has more than one thread in the window, or that is not known; no other
 * process of the name runs most. */
bool wp_cause_may_share(const struct wp_facts *facts, uint32_t node);

#endif
