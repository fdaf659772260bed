/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_CAUSE_CASE_H
#define WP_REPORTER_CAUSES_CAUSE_CASE_H
/* A cause with what was measured beside its time: what a sentence and the rules of patterns look at. */
#include "reporter/causes/cause_counts.h"
#include "reporter/causes/cause_holder.h"

struct wp_cause_case {
    struct wp_facts *facts;
    const struct wp_causes *causes;
    const struct wp_cause_fact *cause;
    uint32_t row;
    const char *call; /* system call of its sleep, "" none: of call_size bytes */
    size_t call_size;
    uint64_t sleeps;  /* like its; 0 not known */
    uint64_t count;   /* the same, or where is_calls the calls that they are in, which may sleep more than once */
    uint64_t mean_ns; /* of these */
    uint64_t longest_ns, usual_ns; /* of sleeps and timeouts; 0 not known */
    bool is_calls;
    struct wp_cause_threads threads;
    struct wp_cause_held held; /* what who ends the wait did meanwhile */
    uint64_t own_ns; /* of a lock or pool: the same call there by threads of interest, which have it themselves */
};

/* Out of memory shows in facts->pool.failed. */
struct wp_cause_case wp_cause_case(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row);
/* How long a sleep or timeout of it is: "10.1 ms each", "up to 900 ms" where they differ, "600 ms on average" where
 * that is not known; after "sleeps of" without "each". In the facts' pool. */
const char *wp_cause_each(const struct wp_cause_case *of, bool is_after);

#endif
