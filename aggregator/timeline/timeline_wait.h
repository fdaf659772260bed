/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_TIMELINE_WAIT_H
#define WP_AGGREGATOR_TIMELINE_TIMELINE_WAIT_H
/* What calls wait for, and how a sleep ends. */
#include "aggregator/timeline/timeline_types.h"

/* The slice's number of a string; 0: none, or there are too many. */
uint16_t wp_timeline_set_wait(struct wp_timeline *timeline, uint32_t string);
/* Frees what calls waited for; for wp_timeline_fini(), which zeroes the rest. */
void wp_timeline_wait_fini(struct wp_timeline *timeline);
/* The sleep of that thread ends so; who ended it has asked the thread, if it is of another process. */
void wp_timeline_wake(struct wp_timeline *timeline, const struct wp_thread *thread, struct wp_slice *slice,
    const struct wp_waking *waking);
/* A waking event: what it says of the thread of that index, noted at the task that woke it or sent it a datagram. */
struct wp_waking wp_timeline_waking(
    struct wp_timeline *timeline, const struct wp_event *event, uint32_t waker, uint32_t target);

#endif
