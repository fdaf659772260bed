/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/clock_wedge.h"

#include <math.h>

/* Times are whole nanoseconds, and products of slope and distance are rounded. */
#define ROUNDING 1.0

void wp_wedge_init(struct wp_wedge *wedge)
{
    wedge->hulls[0].count = wedge->hulls[1].count = 0;
    wedge->lines = (struct wp_wedge_lines){.slope = {-WP_CLOCK_RATE, -WP_CLOCK_RATE}, .top = {INFINITY, INFINITY}};
}

static double bend(double distance)
{
    return WP_CLOCK_WANDER / 2 * distance * distance;
}

static double top_of(const struct wp_wedge_hull *hull, double slope)
{
    double top = INFINITY;
    for (unsigned i = 0; i < hull->count; i++)
        top = fmin(top, hull->value[i] - slope * hull->distance[i]);
    return top;
}

/* Keeps the hull convex: what lies above the line from its neighbour to the new point never touches an extreme line. */
static void push(struct wp_wedge_hull *hull, double distance, double value)
{
    const double *d = hull->distance, *v = hull->value;
    unsigned n = hull->count;
    while (n >= 2 && (v[n - 1] - v[n - 2]) * (distance - d[n - 2]) >= (value - v[n - 2]) * (d[n - 1] - d[n - 2]))
        n--;
    hull->distance[n] = distance;
    hull->value[n] = value;
    hull->count = n + 1;
}

bool wp_wedge_add(struct wp_wedge *wedge, enum wp_wedge_side side, double distance, double value)
{
    struct wp_wedge_hull *own = &wedge->hulls[side], *other = &wedge->hulls[!side];
    double *tops = wedge->lines.top, *slopes = wedge->lines.slope;
    if (own->count == WP_WEDGE_POINTS)
        return false;
    /* seen with this side's sign, so that both are upper constraints */
    value = (side == WP_UPPER ? value : -value) + bend(distance) + ROUNDING;
    if (-(tops[!side] + slopes[!side] * distance) > value) { /* the other's extreme line passes on the wrong side */
        double slope = -slopes[!side];
        for (unsigned i = 0; i < other->count; i++) {
            double apart = distance - other->distance[i], room = value + other->value[i];
            if (apart > 0)
                slope = fmin(slope, room / apart);
            else if (room < 0)
                return false;
        }
        if (slope < slopes[side])
            return false;
        slopes[!side] = -slope;
        tops[!side] = top_of(other, -slope);
    }
    push(own, distance, value);
    tops[side] = fmin(tops[side], value - slopes[side] * distance);
    return true;
}

bool wp_wedge_is_closed(const struct wp_wedge *wedge)
{
    return wedge->hulls[WP_UPPER].count && wedge->hulls[WP_LOWER].count;
}

void wp_wedge_interval(const struct wp_wedge_lines *lines, double inward, double *low, double *high)
{
    *high = lines->top[WP_UPPER] - lines->slope[WP_UPPER] * inward + bend(inward);
    *low = -(lines->top[WP_LOWER] - lines->slope[WP_LOWER] * inward + bend(inward));
}
