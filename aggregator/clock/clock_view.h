/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_CLOCK_CLOCK_VIEW_H
#define WP_AGGREGATOR_CLOCK_CLOCK_VIEW_H
/*
 * The offset between two hosts at a moment: two hulls, one of the constraints before it and one of those after it.
 * What may have happened to a clock unseen, happened on one side; so the interval that holds for either is what is
 * promised (docs/clock.md).
 */
#include "aggregator/clock/clock_types.h"

/* A pair as seen from one of its hosts. */
struct wp_clock_sight {
    struct wp_clock_pair *pair;
    int from;                              /* 0: from the first host, 1: from the second */
    const struct wp_clock_steps *steps[2]; /* of the first host and of the second */
};

/* The offset to the other host at `at_ns` of from's clock, or at any time up to `slack_ns` from that. False: not known.
 * Settled: there are constraints of both kinds on both sides of the moment, or it is just before all of them. */
bool wp_clock_view_map(const struct wp_clock_sight *sight, uint64_t at_ns, uint64_t slack_ns,
    struct wp_clock_interval *interval, bool *is_settled);
/* The hulls around [low, high], at most WP_CLOCK_WINDOW_NS long. */
void wp_clock_view_make(
    struct wp_clock_view *view, const struct wp_clock_sight *sight, uint64_t low_ns, uint64_t high_ns);
/* What they say of a moment in it; false: nothing. */
bool wp_clock_view_at(const struct wp_clock_view *view, uint64_t at_ns, struct wp_clock_interval *interval);

/* A step between the two readings: the clock showed one before and the other one after it. */
bool wp_clock_steps_between(const struct wp_clock_steps *steps, uint64_t a_ns, uint64_t b_ns);
/* A step at that reading; one that is known is ignored. Of more than WP_CLOCK_STEPS the oldest are forgotten; `told`
 * counts them, too. */
void wp_clock_steps_add(struct wp_clock_steps *steps, uint64_t at_ns);

#endif
