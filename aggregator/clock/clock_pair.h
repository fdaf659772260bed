/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_CLOCK_CLOCK_PAIR_H
#define WP_AGGREGATOR_CLOCK_CLOCK_PAIR_H
/*
 * Two hosts that talk: what their messages say of the offset between their clocks. Kept as points on the first host's
 * clock, the tightest one of a cell of time and of each kind (upper, lower), for the last minute; the offset at a
 * moment comes from the two wedges around it (clock_view.h). Every constraint is exact in both clocks, so the way back
 * is the same points seen from the second host.
 */
#include "aggregator/clock/clock_view.h"

#define WP_CLOCK_CELL_BITS 25            /* 34 ms */
#define WP_CLOCK_HISTORY_NS 60000000000u
#define WP_CLOCK_POINTS 512u             /* of one kind; when there are as many, old cells are thinned out */

struct wp_clock_point {
    uint64_t at_ns;      /* first host's clock */
    int64_t offset_ns;   /* second host's clock minus the first's, at most (upper) or at least (lower) */
};

struct wp_clock_points { /* sorted by time, at most one a cell */
    struct wp_clock_point *points; /* owned */
    uint32_t count, room;
    bool is_mixed;       /* not sorted in the second host's clock: it went back */
};

struct wp_clock_pair {
    uint32_t nodes[2];                 /* first and second host */
    struct wp_clock_points sides[2];   /* by enum wp_wedge_side */
    struct wp_clock_point first;       /* the earliest there ever was; at_ns 0: none */
    int64_t slope;                     /* about how fast the offset grows, times 2^32; only chooses among points */
    uint64_t slope_at_ns, contradicted_at_ns;
    uint32_t version;                  /* counts changes of the points */
    uint32_t score, clean, late;       /* contradictions weighed; points since the last one; late points in a row */
    bool is_condemned;                 /* contradicts itself again and again */
    bool is_two_way;                   /* there was a constraint of each kind */
    struct wp_clock_view views[2];     /* seen from the first host, from the second */
};

enum wp_clock_news {
    WP_CLOCK_NOTHING,      /* others say as much */
    WP_CLOCK_LATE,         /* older than the history */
    WP_CLOCK_TIGHTER,
    WP_CLOCK_CONTRADICTION /* kept, but no clock that runs can fulfil it together with what was known */
};

void wp_clock_pair_fini(struct wp_clock_pair *pair);
/* Takes in a constraint; `steps`: of the two hosts. */
enum wp_clock_news wp_clock_pair_add(struct wp_clock_pair *pair, enum wp_wedge_side side, struct wp_clock_point point,
    const struct wp_clock_steps *const steps[2]);

#endif
