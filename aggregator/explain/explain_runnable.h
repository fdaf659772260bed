/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_RUNNABLE_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_RUNNABLE_H
/*
 * Who had the CPU while a thread was runnable: the time is cut where another one came to the CPU in whose queue it
 * stood, and each part says who it was. Private to the explanation.
 */
#include "aggregator/explain/explain_types.h"

/* The runnable part of a sleep. */
struct wp_runnable {
    const struct wp_wait *wait;
    uint64_t ordinal; /* of wait->slice */
    uint32_t node;    /* what "sched:runnable", or else "sched:preempted", stands on */
    bool is_preempted;
    uint32_t cgroup; /* whose quota the part that is told waits for: string id; of explain_runnable.c */
};

/* Emits [from, to) of it, latest first, in parts without gap or overlap. */
void wp_explain_runnable(struct wp_explainer *x, const struct wp_runnable *runnable, uint64_t from_ns, uint64_t to_ns);

#endif
