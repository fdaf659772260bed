/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_QUOTA_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_QUOTA_H
/*
 * Who spent the quota of a cgroup that keeps a thread from its CPU: the processes that were told to be throttled by the
 * same one, as long as each ran in the period before. Private to the explanation.
 */
#include "aggregator/explain/explain_types.h"

#define WP_QUOTA_SPENDERS 16u /* where there are more the last one may be several */

/* A process' name, and how long its like ran. */
struct wp_quota_spender {
    uint16_t occupant; /* number of cpu_runs.h; 0: the process of the thread that waits;
                        * WP_OCCUPANT_OTHER: several, or not known */
    uint64_t ns;
};

/* The longest first. */
struct wp_quota_spenders {
    struct wp_quota_spender rows[WP_QUOTA_SPENDERS];
    uint32_t count; /* 0: not known */
    uint64_t ns;    /* of all */
    uint32_t looks; /* runs that were looked at */
};

/* A thread that waits for the quota of a cgroup. */
struct wp_quota_wait {
    uint32_t identity;
    uint32_t cgroup; /* string id */
    uint64_t since_ns;
    uint64_t until_ns; /* when the kernel filled the quota up again; 0 or UINT64_MAX: not known */
};

/*
 * *spenders is replaced. Looks back to when the quota was filled up before `since_ns`: a whole number of periods before
 * `until_ns` (sched_cfs_period_timer(), Linux kernel/sched/fair.c), or a period where that is not known. Too many runs
 * since then: none is known.
 */
void wp_quota_spenders(
    const struct wp_explainer *x, const struct wp_quota_wait *wait, struct wp_quota_spenders *spenders);

#endif
