/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_CLOCK_CLOCK_WEDGE_H
#define WP_AGGREGATOR_CLOCK_CLOCK_WEDGE_H
/*
 * The lines that a clock's offset may follow, seen from one moment (the origin) to one side of it: all that pass below
 * the upper constraints and above the lower ones. The two convex hulls are built outward from the origin, a constraint
 * at a time; what is asked for are the lines of extreme slope that touch both (Duda et al. 1987; Poirier, Roy and
 * Dagenais 2010; docs/clock.md has the mathematics). A constraint loosens with the square of its distance, by
 * WP_CLOCK_WANDER: the offset need not follow a line, its slope may change slowly.
 */
#include <stdbool.h>

#define WP_CLOCK_RATE 1e-3    /* how fast two clocks may drift apart; faster is treated as a step */
#define WP_CLOCK_WANDER 5e-15 /* how fast that may change, per ns: 5 ppm a second */
#define WP_WEDGE_POINTS 128   /* constraints of one kind */

struct wp_wedge_hull { /* from below: of upper constraints, or of lower ones with their sign turned */
    double distance[WP_WEDGE_POINTS], value[WP_WEDGE_POINTS];
    unsigned count;
    unsigned touched; /* the constraint that the extreme line passes through; only moves outward */
};

enum wp_wedge_side { WP_UPPER, WP_LOWER };

/* The two extreme lines, by enum wp_wedge_side; of the lower side with the sign turned, so that both are "at most". */
struct wp_wedge_lines {
    double slope[2]; /* outward, the least that the constraints allow */
    double top[2];   /* height at the origin: the most that they allow */
};

struct wp_wedge {
    struct wp_wedge_hull hulls[2]; /* by enum wp_wedge_side */
    struct wp_wedge_lines lines;
};

void wp_wedge_init(struct wp_wedge *wedge);
/* `value`: what the offset is at most (upper) or at least (lower) at `distance` >= 0, in ns, no nearer than the one
 * before. False: no line agrees with it and with those before, or there is no room; the wedge is as before. */
bool wp_wedge_add(struct wp_wedge *wedge, enum wp_wedge_side side, double distance, double value);
/* There are constraints of both kinds. */
bool wp_wedge_is_closed(const struct wp_wedge *wedge);
/* The interval `inward` ns behind the origin, on the side where there are no constraints. */
void wp_wedge_interval(const struct wp_wedge_lines *lines, double inward, double *low, double *high);

#endif
