/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_THREAD_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_THREAD_H
/* A sleep that a thread ended: that thread's time, if it worked for the sleeper; else the wait is on another path.
 * Private to the explanation. */
#include "aggregator/explain/explain_types.h"

/* [from, to) is the time of `waker` up to its doing at `to`, if that fits or is on the sleeper's behalf; else the wait
 * is on another path. */
void wp_wait_on_thread(struct wp_explainer *x, const struct wp_wait *wait, uint32_t node, uint32_t waker,
    uint64_t from_ns, uint64_t to_ns, bool on_behalf);

#endif
