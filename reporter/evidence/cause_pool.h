/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EVIDENCE_CAUSE_POOL_H
#define WP_REPORTER_EVIDENCE_CAUSE_POOL_H
/* Which semaphores hold what threads take and give back. Of another one some threads wait for what others post: it is
 * an event, and nobody has it meanwhile. */
#include "reporter/facts/facts.h"

/* Sets facts->is_pool. Out of memory shows in facts->pool.failed. */
void wp_cause_pools_build(struct wp_facts *facts);

#endif
