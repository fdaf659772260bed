/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_DETACHED_H
#define WP_AGGREGATOR_ACCOUNT_DETACHED_H
/*
 * Work that the process of interest set going and that nobody waited for: runs of other threads of its host that a base
 * thread woke, created or sent a message to, on to where that thread next waits for somebody or reads from another
 * peer, as far as no control path holds them; of a run in which it answered, 100 us or more behind that. Beside the
 * total ("A Recursive Systemic Profiler" leaves it out; a caller that never joins its worker pays for it all the same).
 */
#include <stdbool.h>
#include <stdint.h>

struct wp_aggregate;
struct wp_detached;
struct wp_slice;
struct wp_thread;

/* Up to when it gets slices once all is explained up to `until_ns`: whoever waits for them has half the history
 * for it. */
static inline uint64_t wp_detached_until(uint64_t until_ns, uint64_t history_ns)
{
    return until_ns > history_ns / 2 ? until_ns - history_ns / 2 : 0;
}

/*
 * Counts such work in slices that ended in (from_ns, to_ns], and puts its pieces into the report's report of it, on who
 * started it and how ("starts:waking", "starts:new thread", "starts:message"). What was set going by a thread that has
 * slept ever since is left out, it may still turn out to wait for it; so is what was set going before `oldest_ns`, and
 * by a message from another host. Of what is more than a part of the epoch's budget only the time is told. Nanoseconds.
 * Called between explanations.
 */
uint64_t wp_detached_count(struct wp_aggregate *aggregate, uint64_t from_ns, uint64_t to_ns, uint64_t oldest_ns);
/* The report is empty now. */
void wp_detached_next_delta(struct wp_detached *detached);
/* Zeroed is allowed. */
void wp_detached_fini(struct wp_detached *detached);

#endif
