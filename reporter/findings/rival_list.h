/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_RIVAL_LIST_H
#define WP_REPORTER_FINDINGS_RIVAL_LIST_H
/* Who had the processor in the time of a category that no finding of its own tells, in a few words. */
#include "reporter/facts/rivals.h"

struct wp_rival_rest {
    uint32_t category;
    const uint32_t *cell_cause; /* by cell of the flame: 0 no cause has it */
    const bool *is_told;        /* by frame: told already */
};

/* ": own thread encoder 200 ms, cc1 80.0 ms": the longest three, without what has little beside the rest. "" nobody is
 * known. In the facts' pool; out of memory sets pool.failed. */
const char *wp_rival_list(struct wp_facts *facts, const struct wp_rival_rest *rest);
/* How much of that time Wakepath itself had the processor, in nanoseconds. For the thread that has the facts. */
uint64_t wp_rival_profiler_ns(const struct wp_facts *facts, const struct wp_rival_rest *rest);
/* "web waits 2.00 s (14 %) for a CPU that gzip uses on behalf of cron.", or is throttled by a quota; in the facts'
 * pool.
 */
const char *wp_rival_sentence(struct wp_facts *facts, const struct wp_rival *rival);

#endif
