/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_HOLDERS_H
#define WP_AGGREGATOR_TIMELINE_HOLDERS_H
/*
 * Whom a sleep waited for that nothing which it waited for ended: a signal did, or it goes on at the recording's end.
 * Of a lock the collector tells who held it (WP_SWITCH_HELD), of a wait for children it is the youngest one that lives.
 */
#include "aggregator/timeline/timeline_types.h"

#define WP_RING_MEMBERS 16u /* longer rings of locks are not looked for */

/* Threads each of which waits for a lock that the next one holds, the last one's the first one. */
struct wp_holder_ring {
    uint32_t threads[WP_RING_MEMBERS];
    const struct wp_slice *slices[WP_RING_MEMBERS];
    uint32_t count;    /* 0: there is none */
    uint64_t since_ns; /* when the last of them fell asleep */
};

/* The same of a sleep that a signal ended. */
bool wp_slice_is_cut_short(const struct wp_timeline *timeline, const struct wp_slice *slice);
/* A signal of another process ended the sleep, and it was not what the call waits for. SIGCHLD is what waits for
 * children are for; signals between threads of a process are how runtimes talk. */
static inline bool wp_slice_is_interrupted(const struct wp_timeline *timeline, const struct wp_slice *slice)
{
    return wp_slice_signal(slice) && wp_slice_is_cut_short(timeline, slice);
}
/* The thread that held the lock, or was joined; 0: not known. */
uint32_t wp_holder_of(const struct wp_timeline *timeline, uint32_t thread, const struct wp_slice *slice);
/* The ring that the sleeper is part of at that instant, beginning with it. */
void wp_holder_ring(const struct wp_timeline *timeline, uint32_t thread, const struct wp_slice *slice, uint64_t at_ns,
    struct wp_holder_ring *ring);
/* The child that a wait4 or waitid waits for at that instant. So does a wait for signals (timeout, a shell) that the
 * recording's end cut off, or that a signal ended upon which the sleeper told the child to end, as far as events up to
 * `until_ns` say. 0: none, or another call. */
uint32_t wp_holder_child(const struct wp_timeline *timeline, uint32_t thread, const struct wp_slice *slice,
    uint64_t at_ns, uint64_t until_ns);

#endif
