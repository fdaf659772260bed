/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_CAUSE_WAITING_H
#define WP_REPORTER_FINDINGS_CAUSE_WAITING_H
/* Where the program of interest waits while another thread or process does what the cause is about. */
#include "reporter/findings/causes.h"

/* The sleep, at a known place, of the innermost layer below the cause that is of the process of interest by its name:
 * of all such places the one with most of the cause's time; 0 none. *ns: of that place. Out of memory shows in
 * facts->pool.failed. */
uint32_t wp_cause_waiting(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row, uint64_t *ns);

#endif
