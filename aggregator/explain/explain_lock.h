/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_LOCK_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_LOCK_H
/*
 * Sleeps for a lock: of user space, of the kernel, of a file. Whoever has the lock meanwhile works on the sleeper's
 * path, however long ago that began, for the sleeper goes on only when it is given back. Private to the explanation.
 */
#include "aggregator/explain/explain_types.h"

/* A sleep that a thread ended: those who had the lock up to `to_ns`, one behind the other. False: it was not for a
 * lock, and nothing is explained. */
bool wp_wait_on_lock(
    struct wp_explainer *x, const struct wp_wait *wait, uint32_t waker, uint64_t from_ns, uint64_t to_ns);
/* Was that sleep, which a thread ended, for a lock? */
bool wp_explain_is_lock(struct wp_explainer *x, const struct wp_slice *slice);

#endif
