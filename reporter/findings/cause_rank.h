/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_CAUSE_RANK_H
#define WP_REPORTER_FINDINGS_CAUSE_RANK_H
/* What mending a cause would save: by that findings are ordered. */
#include "reporter/causes/cause_case.h"

/* Its time, and what belongs to it and is told elsewhere: what holders of its lock sleep themselves, what the same call
 * of the same place runs, and runs between its sleeps that are too short for samples. */
uint64_t wp_cause_rank(const struct wp_cause_case *of);

/* Of its time what may be the program's fault: where a thread is perhaps idle, only what requests wait there. */
uint64_t wp_cause_blamed(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t row);

/* Whether it waits for another path of the service, whose time is told by itself: no request is known to wait there,
 * nor is it for the end of a thread. */
bool wp_cause_is_told_beside(const struct wp_cause_case *of);

#endif
