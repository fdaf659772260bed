/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_KILLED_FINDING_H
#define WP_REPORTER_RECORDING_KILLED_FINDING_H
/* Processes that the kernel killed for want of memory, as the first finding: what they did until then explains little.
 */
#include "reporter/facts/facts.h"

/* By facts->tree (process_tree.h), of the time that the facts are of; puts it before the other findings. None is told
 * where nobody was killed. Out of memory shows in facts->pool.failed. */
void wp_killed_finding_add(struct wp_facts *facts);

#endif
