/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/clock/clock_hull.h"

#include <math.h>

/* Times are whole nanoseconds, and products of slope and distance are rounded. */
#define ROUNDING 1.0

void wp_clock_hull_init(struct wp_clock_hull *hull)
{
    for (int side = 0; side < 2; side++)
        hull->chains[side].count = hull->chains[side].touched = 0;
    hull->lines = (struct wp_clock_hull_lines){.slope = {-WP_CLOCK_RATE, -WP_CLOCK_RATE}, .top = {INFINITY, INFINITY}};
}

static double bend(double distance)
{
    return WP_CLOCK_WANDER / 2 * distance * distance;
}

/* Keeps the chain convex: what lies above the line from its neighbour to the new point never touches an extreme line.
 */
static void push(struct wp_clock_chain *chain, double distance, double value)
{
    const double *d = chain->distance, *v = chain->value;
    unsigned n = chain->count;
    if (n && d[n - 1] == distance) {
        if (v[n - 1] <= value)
            return;
        n--;
    }
    while (n >= 2 && (v[n - 1] - v[n - 2]) * (distance - d[n - 2]) >= (value - v[n - 2]) * (d[n - 1] - d[n - 2]))
        n--;
    chain->distance[n] = distance;
    chain->value[n] = value;
    chain->count = n + 1;
    if (chain->touched > n)
        chain->touched = n;
}

/* The other side's extreme line passes on the wrong side of the new constraint: turns it about its hull until it does
 * not. False: that would turn it beyond `least`. */
static bool turn(struct wp_clock_chain *other, double distance, double value, double least, double *slope, double *top)
{
    const double *d = other->distance, *v = other->value;
    unsigned last = other->count - 1, i = other->touched;
    if (d[last] >= distance && value + v[last] < 0)
        return false;
    double most = d[i] < distance ? (value + v[i]) / (distance - d[i]) : INFINITY;
    for (unsigned next = i + 1; next <= last && d[next] < distance; next++) {
        double steeper = (value + v[next]) / (distance - d[next]);
        if (steeper > most)
            break;
        most = steeper;
        i = next;
    }
    if (most < least)
        return false;
    if (most == INFINITY)
        return true;
    other->touched = i;
    *slope = -most;
    *top = v[i] + most * d[i];
    return true;
}

bool wp_clock_hull_add(struct wp_clock_hull *hull, enum wp_clock_side side, double distance, double value)
{
    struct wp_clock_chain *own = &hull->chains[side], *other = &hull->chains[!side];
    double *tops = hull->lines.top, *slopes = hull->lines.slope;
    if (own->count == WP_CLOCK_HULL_POINTS)
        return false;
    /* seen with this side's sign, so that both are upper constraints */
    value = (side == WP_UPPER ? value : -value) + bend(distance) + ROUNDING;
    if (-(tops[!side] + slopes[!side] * distance) > value &&
        !turn(other, distance, value, slopes[side], &slopes[!side], &tops[!side]))
        return false;
    push(own, distance, value);
    double top = value - slopes[side] * distance;
    if (top < tops[side]) {
        tops[side] = top;
        own->touched = own->count - 1;
    }
    return true;
}

bool wp_clock_hull_is_closed(const struct wp_clock_hull *hull)
{
    return hull->chains[WP_UPPER].count && hull->chains[WP_LOWER].count;
}

void wp_clock_hull_interval(const struct wp_clock_hull_lines *lines, double inward, double *low, double *high)
{
    *high = lines->top[WP_UPPER] - lines->slope[WP_UPPER] * inward + bend(inward);
    *low = -(lines->top[WP_LOWER] - lines->slope[WP_LOWER] * inward + bend(inward));
}
