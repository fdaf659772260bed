/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_PATTERN_H
#define WP_REPORTER_FINDINGS_PATTERN_H
/* Which known fault a cause looks like, by the tables of rules in pattern_*.c. */
#include "reporter/findings/pattern_types.h"

/* The first rule that fits; key NULL: none. */
struct wp_pattern wp_pattern_of_cause(const struct wp_cause_case *of);
/* Of the time that threads were preempted: a CPU quota, as the engine says or, in older reports, by how long it takes.
 */
struct wp_pattern wp_pattern_of_preemption(struct wp_facts *facts, uint64_t ns, uint64_t count);
/* The same where the kernel said that it was one. */
struct wp_pattern wp_pattern_of_quota(void);
/* " Lock convoy, likely: 4 threads waited 813 times, 0.9 ms on average."; "" none. */
const char *wp_pattern_text(struct wp_pool *pool, const struct wp_pattern *pattern);
/* "certain", "likely", "possible": stable, for scripts. */
const char *wp_surety_key(enum wp_surety sure);

#endif
