/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_THREAD_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_THREAD_H
/* A sleep that a thread ended: that thread's time, if it worked for the sleeper; else the wait is on another path.
 * Private to the explanation. */
#include "aggregator/explain/explain_types.h"

/* A part of a sleep, up to what a thread did at its end. */
struct wp_wait_part {
    uint32_t node, waker;
    uint64_t from_ns, to_ns;
    bool on_behalf; /* that thread works for the sleeper, whatever set it going */
};

/* The part is the waker's time, if that fits or is on the sleeper's behalf; else the wait is on another path. */
void wp_wait_on_thread(struct wp_explainer *x, const struct wp_wait *wait, const struct wp_wait_part *part);

#endif
