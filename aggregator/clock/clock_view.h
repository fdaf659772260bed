/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_CLOCK_CLOCK_VIEW_H
#define WP_AGGREGATOR_CLOCK_CLOCK_VIEW_H
/*
 * The offset between two hosts at a moment: two wedges, one of the constraints before it and one of those after it.
 * What may have happened to a clock unseen, happened on one side; so the interval that holds for either is what is
 * promised (docs/clock.md).
 */
#include "aggregator/clock/clock_wedge.h"

#include <stdint.h>

#define WP_CLOCK_WINDOW_NS 10000000000u  /* constraints farther than this from a moment say nothing of it */
#define WP_CLOCK_STEPS 16u

struct wp_clock_pair;

/* When a clock was said to have jumped, ascending; the oldest are forgotten. */
struct wp_clock_steps {
    uint64_t at_ns[WP_CLOCK_STEPS];
    uint32_t count, told;
};

/* Two wedges around a stretch of time that holds no constraint that counts; the work of a query, kept for the next
 * one. */
struct wp_clock_view {
    uint64_t low_ns, high_ns;     /* the stretch, in the clock it is seen from; high 0: none */
    uint32_t version, told;       /* of the pair, and of both hosts' steps */
    bool is_settled;              /* both sides are known */
    struct wp_clock_flank {       /* before the stretch, after it */
        bool is_closed;
        int64_t origin_ns;        /* the lines are relative to this: years of nanoseconds do not fit a double */
        struct wp_wedge_lines lines;
    } flanks[2];
};

struct wp_clock_interval {
    int64_t low_ns, high_ns;      /* offset */
};

/* The offset from host `from` (0 first, 1 second) to the other one at `at_ns` of from's clock, or at any time up to
 * `slack_ns` from that. `steps`: of the two hosts. False: not known.
 * Settled: there are constraints of both kinds on both sides of the moment, or it is just before all of them. */
bool wp_clock_view_map(struct wp_clock_pair *pair, int from, uint64_t at_ns, uint64_t slack_ns,
    const struct wp_clock_steps *const steps[2], struct wp_clock_interval *interval, bool *is_settled);
/* The wedges around [low, high], at most WP_CLOCK_WINDOW_NS long. */
void wp_clock_view_make(struct wp_clock_view *view, const struct wp_clock_pair *pair, int from, uint64_t low_ns,
    uint64_t high_ns, const struct wp_clock_steps *const steps[2]);
/* What they say of a moment in it; false: nothing. */
bool wp_clock_view_at(const struct wp_clock_view *view, uint64_t at_ns, struct wp_clock_interval *interval);

/* A step between the two readings: the clock showed one before and the other one after it. */
bool wp_clock_steps_between(const struct wp_clock_steps *steps, uint64_t a_ns, uint64_t b_ns);
void wp_clock_steps_add(struct wp_clock_steps *steps, uint64_t at_ns);

#endif
