/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_CLOCK_CLOCK_HULL_H
#define WP_AGGREGATOR_CLOCK_CLOCK_HULL_H
/*
 * The lines that a clock's offset may follow, seen from one moment (the origin) to one side of it: all that pass below
 * the upper constraints and above the lower ones. The two convex hulls are built outward from the origin, a constraint
 * at a time; what is asked for are the lines of extreme slope that touch both (Duda et al. 1987; Poirier, Roy and
 * Dagenais 2010; docs/clock.md has the mathematics). A constraint loosens with the square of its distance, by
 * WP_CLOCK_WANDER: the offset need not follow a line, its slope may change slowly.
 */
#include <stdbool.h>

#define WP_CLOCK_RATE 1e-3       /* how fast two clocks may drift apart; faster is treated as a step */
#define WP_CLOCK_WANDER 5e-15    /* how fast that may change, per ns: 5 ppm a second */
#define WP_CLOCK_HULL_POINTS 128 /* constraints of one kind */

struct wp_clock_chain { /* from below: of upper constraints, or of lower ones with their sign turned */
    double distance[WP_CLOCK_HULL_POINTS], value[WP_CLOCK_HULL_POINTS];
    unsigned count;
    unsigned touched; /* the constraint that the extreme line passes through; only moves outward */
};

/* Whether a constraint says what the offset is at most or at least. */
enum wp_clock_side { WP_UPPER, WP_LOWER };

/* The two extreme lines, by enum wp_clock_side; of the lower side with the sign turned, so that both are "at most". */
struct wp_clock_hull_lines {
    double slope[2]; /* outward, the least that the constraints allow */
    double top[2];   /* height at the origin: the most that they allow */
};

/* Both hulls of one side of the origin. Owns nothing. */
struct wp_clock_hull {
    struct wp_clock_chain chains[2]; /* by enum wp_clock_side */
    struct wp_clock_hull_lines lines;
};

/* Empties the hull, which needs it before the first use: zeroed is not empty. */
void wp_clock_hull_init(struct wp_clock_hull *hull);
/* `value`: what the offset is at most (upper) or at least (lower) at `distance` >= 0, in ns, no nearer than the one
 * before. False: no line agrees with it and with those before, or there is no room; the hull is as before. */
bool wp_clock_hull_add(struct wp_clock_hull *hull, enum wp_clock_side side, double distance, double value);
/* There are constraints of both kinds. */
bool wp_clock_hull_is_closed(const struct wp_clock_hull *hull);
/* The interval `inward` ns behind the origin, on the side where there are no constraints. */
void wp_clock_hull_interval(const struct wp_clock_hull_lines *lines, double inward, double *low, double *high);

#endif
