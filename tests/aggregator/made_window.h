/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_MADE_WINDOW_H
#define WP_TESTS_MADE_WINDOW_H
/*
 * A made trace as a recording in windows would have it: what is between two of them is gone, but births, programs,
 * names and deaths; at the beginning of each stands how the threads are. Nothing else is known of a thread than what
 * the whole trace said.
 */
#include "aggregator/timeline/timeline.h"
#include "common/window.h"
#include "made_trace.h"

/* In place. The trace must have no losses. Times count as wall time. */
void made_window_apply(struct made_trace *trace, const struct wp_window *window);
/* How much of [from, to) is recorded. */
uint64_t made_window_open(const struct wp_window *window, uint64_t from_ns, uint64_t to_ns);

#endif
