/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_WAITS_WAIT_LOCKS_H
#define WP_REPORTER_WAITS_WAIT_LOCKS_H
/* Threads of a process that wait for each other's locks, by function: who waits for which lock, and for whom that
 * waits.
 */
#include "reporter/facts/facts.h"

#include <stdbool.h>

struct wp_lock_wait {
    const char *lock;        /* "cache_lock (orders)", "a lock in update_cache" */
    const char *thread;      /* "orders in update_cache (orders.c:34)" */
    const char *lock_frame;  /* what finds it in the flame: its name there, ... */
    const char *thread_name; /* ... and the function's, or the process' */
    bool is_holder;          /* the lock waits for the thread, which holds it */
    uint64_t ns, count;
    uint64_t largest_ns; /* of one pseudo-stack, whose node on the lock or the holder's layer is: */
    uint32_t permalink;
};

struct wp_lock_waits {
    struct wp_lock_wait *rows; /* in the pool */
    size_t count;
};

/* Each once a pseudo-stack. Out of memory shows in pool->failed. */
void wp_lock_waits_build(struct wp_lock_waits *waits, struct wp_pool *pool, const struct wp_facts *facts);

#endif
