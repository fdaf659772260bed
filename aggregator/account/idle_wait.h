/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_IDLE_WAIT_H
#define WP_AGGREGATOR_ACCOUNT_IDLE_WAIT_H
/*
 * Sleeps of threads that have nothing to do, where all threads of a process are the base. A thread that has read a
 * request and not answered it is never idle. Else it is
 *  - while it waits for work from its own process or service: another base thread ended the sleep, and what that one
 *    did was not set going by the sleeper, who then waits for a result; of another process that must be known. A wait
 *    for a lock is none, nor one at a barrier;
 *  - in accept, or until a request comes on a connection where nothing was owed;
 *  - until a timer of its own in a call that waits for several things, while it has asked for nothing: an event loop
 *    that serves, or who asks nobody ever and between such sleeps runs less than a millisecond, or than a hundredth of
 *    the sleep;
 *  - where servers and runtimes are known to wait for work (common/idle_place.h);
 *  - by the clock, in a thread beside the main one that never asks, and wakes nobody but who waits for a lock or is a
 *    runtime's own; or since before the recording, without a stack, where it then looks around and wakes at most who
 *    waits for work.
 * A sleep that a pause of the recording cuts is idle in accept, at a known place and of a runtime's own thread; a loop
 * that is in the same call as the recording goes on is at the same place.
 */
#include "aggregator/explain/explain.h"

/* Which stacks are such places, as far as it was looked at. Embedded; wp_idle_places_init() comes first. */
struct wp_idle_places {
    struct wp_idtable stacks; /* uint8_t by stack */
};

/* Allocates nothing. */
void wp_idle_places_init(struct wp_idle_places *places);
/* Frees the table. */
void wp_idle_places_fini(struct wp_idle_places *places);
/* What is held on the heap. */
size_t wp_idle_places_bytes(const struct wp_idle_places *places);

/* Of what the sleep is asked. */
struct wp_idle_wait {
    const struct wp_timeline *timeline; /* borrowed */
    struct wp_idle_places *places;      /* borrowed */
    uint64_t bit;                       /* the aggregate's: of its base threads */
    uint32_t thread;
    const struct wp_slice *slice; /* borrowed */
};

/* Asked between explanations. */
bool wp_idle_wait_is_idle(const struct wp_idle_wait *wait, struct wp_explainer *explainer);
/* A sleep that has not ended, where threads are known to wait for work, and in no call that takes a lock. */
bool wp_idle_wait_is_known(const struct wp_idle_wait *wait);

#endif
