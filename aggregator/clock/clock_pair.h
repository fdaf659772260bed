/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_CLOCK_CLOCK_PAIR_H
#define WP_AGGREGATOR_CLOCK_CLOCK_PAIR_H
/*
 * Two hosts that talk: what their messages say of the offset between their clocks. Kept as points on the first host's
 * clock, the tightest one of a cell of time and of each kind (upper, lower), for the last minute, and the last one
 * before a pause: without it moments of the last cell have no constraint after them. The offset at a moment comes from
 * the two hulls around it (clock_view.h). Every constraint is exact in both clocks, so the way back is the same points
 * seen from the second host.
 */
#include "aggregator/clock/clock_types.h"
#include "common/clock.h"

#define WP_CLOCK_CELL_BITS 25 /* 34 ms */
#define WP_CLOCK_HISTORY_NS (60 * WP_NS_PER_S)
#define WP_CLOCK_POINTS 512u /* of one kind; when there are as many, old cells are reduced */

/* What a constraint added to what was known. */
enum wp_clock_news {
    WP_CLOCK_NOTHING, /* others say as much */
    WP_CLOCK_LATE,    /* older than the history */
    WP_CLOCK_TIGHTER,
    WP_CLOCK_CONTRADICTION /* kept, but no clock that runs can fulfil it together with what was known */
};

/* Frees the points and zeroes the pair; zeroed is allowed. */
void wp_clock_pair_fini(struct wp_clock_pair *pair);
/* Takes in a constraint; `steps`: of the two hosts. */
enum wp_clock_news wp_clock_pair_add(struct wp_clock_pair *pair, enum wp_clock_side side, struct wp_clock_point point,
    const struct wp_clock_steps *const steps[2]);

#endif
