/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_CLOCK_CLOCK_TYPES_H
#define WP_AGGREGATOR_CLOCK_CLOCK_TYPES_H
/* What a pair of clocks (clock_pair.h) and a view of it (clock_view.h) consist of. */
#include "aggregator/clock/clock_hull.h"
#include "common/clock.h"

#include <stdint.h>

#define WP_CLOCK_WINDOW_NS (10 * WP_NS_PER_S) /* constraints farther than this from a moment say nothing of it */
#define WP_CLOCK_STEPS 16u

/* When a clock was said to have jumped, ascending; the oldest are forgotten. */
struct wp_clock_steps {
    uint64_t at_ns[WP_CLOCK_STEPS];
    uint32_t count, told;
};

/* Two hulls around an interval of time that holds no constraint that counts; the work of a query, kept for the next
 * one. */
struct wp_clock_view {
    uint64_t low_ns, high_ns; /* the interval, in the clock it is seen from; high 0: none */
    uint32_t version, told;   /* of the pair, and of both hosts' steps */
    bool is_settled;          /* both sides are known */
    struct wp_clock_flank {   /* before the interval, after it */
        bool is_closed;
        int64_t origin_ns; /* the lines are relative to this: years of nanoseconds do not fit a double */
        struct wp_clock_hull_lines lines;
    } flanks[2];
};

struct wp_clock_interval {
    int64_t low_ns, high_ns; /* offset */
};

struct wp_clock_point {
    uint64_t at_ns;    /* first host's clock */
    int64_t offset_ns; /* second host's clock minus the first's, at most (upper) or at least (lower) */
};

struct wp_clock_points {           /* sorted by time, one or two a cell */
    struct wp_clock_point *points; /* owned */
    uint32_t count, room;
    bool is_mixed; /* not sorted in the second host's clock: it went back */
};

struct wp_clock_pair {
    uint32_t nodes[2];               /* first and second host */
    struct wp_clock_points sides[2]; /* by enum wp_clock_side */
    struct wp_clock_point first;     /* the earliest there ever was; at_ns 0: none */
    int64_t slope;                   /* about how fast the offset grows, times 2^32; only chooses among points */
    uint64_t slope_at_ns, contradicted_at_ns;
    uint32_t version;              /* counts changes of the points */
    uint32_t score, clean, late;   /* contradictions weighed; points since the last one; late points in a row */
    bool is_condemned;             /* contradicts itself again and again */
    bool is_two_way;               /* there was a constraint of each kind */
    struct wp_clock_view views[2]; /* seen from the first host, from the second */
};

#endif
