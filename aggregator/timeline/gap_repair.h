/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_GAP_REPAIR_H
#define WP_AGGREGATOR_TIMELINE_GAP_REPAIR_H
/*
 * What was not seen of a thread: that it came onto a CPU, that it left it, or what woke it. The first two are repaired
 * at the next fact that contradicts; a sleep without a waking gets one where what is known leaves only one, else it
 * stays without. All of it is marked uncertain, and nothing here looks ahead of the fact that is being taken in by more
 * than WP_UNSEEN_READ_NS. Part of timeline.c.
 */
#include "aggregator/timeline/timeline_types.h"
#include "common/clock.h"

#define WP_UNSEEN_SLACK_NS 100000u /* a sleep this much shorter than its timeout: the call began that much earlier */
#define WP_UNSEEN_LOOP_NS                                                                                              \
    (2 * WP_NS_PER_S)                  /* a sleep longer than that is not compared with the one before it in a loop */
#define WP_UNSEEN_LOOP_SLEEPS 8u       /* so many before it are compared with */
#define WP_UNSEEN_READ_NS WP_NS_PER_MS /* a read this soon after a sleep in a call that reads is what it slept for */

/* The thread must be running from `at_ns` on, and is not: its switch-in was lost. */
void wp_gap_repair_in(struct wp_timeline *timeline, uint32_t thread, uint64_t at_ns);
/* The thread must have left the CPU by `at_ns`, and has not: its switch-out was lost. */
void wp_gap_repair_out(struct wp_timeline *timeline, uint32_t thread, uint64_t at_ns);
/*
 * The thread's sleep ends, in_ns is set, and no waking of it was seen. It was a timer if the call's timeout had passed
 * by then, or if the sleeps before it at the same place timed out and it was as long as one of them; it was the disk if
 * that ended a request of this thread meanwhile, or one that waits for its end since before the sleep.
 */
void wp_unseen_waking(struct wp_timeline *timeline, uint32_t thread);
/* A SOCK event: the thread has read from a socket: if that is what it slept for, the message woke it. */
void wp_unseen_read(struct wp_timeline *timeline, uint32_t thread, const struct wp_event *event);

#endif
