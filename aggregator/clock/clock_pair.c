/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/clock/clock_pair.h"

#include "aggregator/clock/clock_view.h"
#include "common/array.h"
#include "common/clock.h"

#include <stdlib.h>
#include <string.h>

#define SLOPE_PERIOD_NS (1u << 30)
#define KEPT 128u                 /* points that stay however old they are */
#define FINE_NS (4 * WP_NS_PER_S) /* points this new stay as they are; of older ones, one in 268 ms */
#define COARSE_BITS 28
#define END_NS (4 * WP_NS_PER_MS) /* the newest point moves on so far at once, not with each message */
#define BACK_NS WP_NS_PER_S
#define NEIGHBOURS 12u
#define EXCHANGE_NS 300000000u
#define LATE_LIMIT 4u /* late points in a row: the clock itself went back */
/* The kernel lets nobody run a clock more than 10 % fast or slow (adjtimex(2), ADJ_TICK). */
#define IMPOSSIBLE_SHIFT 3
#define CONTRADICTION_PERIOD_NS (1u << 29) /* one step shows in several points */
#define CONDEMNED 8u
#define CLEAN 8u /* good points that outweigh a contradiction */

void wp_clock_pair_fini(struct wp_clock_pair *pair)
{
    free(pair->sides[0].points);
    free(pair->sides[1].points);
    *pair = (struct wp_clock_pair){0};
}

/* The first point at or after that. */
static uint32_t find(const struct wp_clock_points *side, uint64_t at_ns)
{
    return WP_LOWER_BOUND(middle, 0, side->count, side->points[middle].at_ns < at_ns);
}

static bool same_cell(uint64_t a_ns, uint64_t b_ns)
{
    return a_ns >> WP_CLOCK_CELL_BITS == b_ns >> WP_CLOCK_CELL_BITS;
}

static bool is_tighter(const struct wp_clock_pair *pair, enum wp_clock_side side, struct wp_clock_point point,
    const struct wp_clock_point *kept)
{
    int64_t drifted = (pair->slope * (int64_t)(point.at_ns - kept->at_ns)) >> 32;
    int64_t more = point.offset_ns - drifted - kept->offset_ns;
    return side == WP_UPPER ? more < 0 : more > 0;
}

/* The second host's clock goes back from a point to the next, by more than messages take. */
static bool goes_back(const struct wp_clock_points *own, uint32_t i)
{
    const struct wp_clock_point *point = &own->points[i];
    int64_t on = (int64_t)(point[1].at_ns - point->at_ns);
    return point->offset_ns > point[1].offset_ns &&
        (uint64_t)(point->offset_ns - point[1].offset_ns) > (uint64_t)on + BACK_NS;
}

/* A full side: what is older than the history goes, of what is not new one point in a coarse cell stays. */
static void thin_out(const struct wp_clock_pair *pair, struct wp_clock_points *own, enum wp_clock_side side)
{
    uint64_t newest_ns = own->points[own->count - 1].at_ns;
    uint64_t horizon_ns = newest_ns > WP_CLOCK_HISTORY_NS ? newest_ns - WP_CLOCK_HISTORY_NS : 0;
    uint32_t first = find(own, horizon_ns), count = 0;
    if (first > own->count - KEPT)
        first = own->count - KEPT;
    for (uint32_t i = first; i < own->count; i++) {
        struct wp_clock_point point = own->points[i], *last = count ? &own->points[count - 1] : NULL;
        if (!last || newest_ns - point.at_ns < FINE_NS || last->at_ns >> COARSE_BITS != point.at_ns >> COARSE_BITS)
            own->points[count++] = point;
        else if (is_tighter(pair, side, point, last))
            *last = point;
    }
    if (count == own->count) { /* a clock that jumps far and often: the oldest quarter goes */
        count -= count / 4;
        memmove(own->points, own->points + own->count - count, count * sizeof(*own->points));
    }
    own->count = count;
    own->is_mixed = false;
    for (uint32_t i = 0; i + 1 < count; i++)
        own->is_mixed |= goes_back(own, i);
}

static bool make_room(const struct wp_clock_pair *pair, struct wp_clock_points *own, enum wp_clock_side side)
{
    if (own->count < own->room)
        return true;
    if (own->room == WP_CLOCK_POINTS) {
        thin_out(pair, own, side);
        return true;
    }
    return !WP_ARRAY_FIT(own->points, own->room, own->count + 1);
}

/* No clock that runs can fulfil the two: the step between them was not told, or one is a lie. */
static bool is_impossible(enum wp_clock_side side, struct wp_clock_point point, const struct wp_clock_point *other,
    const struct wp_clock_steps *const steps[2])
{
    uint64_t apart = point.at_ns > other->at_ns ? point.at_ns - other->at_ns : other->at_ns - point.at_ns;
    int64_t lacking = side == WP_UPPER ? other->offset_ns - point.offset_ns : point.offset_ns - other->offset_ns;
    return lacking > 0 && (uint64_t)lacking > apart >> IMPOSSIBLE_SHIFT &&
        !wp_clock_steps_between(steps[0], point.at_ns, other->at_ns) &&
        !wp_clock_steps_between(
            steps[1], point.at_ns + (uint64_t)point.offset_ns, other->at_ns + (uint64_t)other->offset_ns);
}

static enum wp_clock_news condemn(struct wp_clock_pair *pair, uint64_t at_ns)
{
    uint64_t since =
        at_ns > pair->contradicted_at_ns ? at_ns - pair->contradicted_at_ns : pair->contradicted_at_ns - at_ns;
    pair->clean = 0;
    if (since < CONTRADICTION_PERIOD_NS)
        return WP_CLOCK_TIGHTER;
    pair->contradicted_at_ns = at_ns;
    if (pair->score < CONDEMNED)
        pair->score++;
    pair->is_condemned |= pair->score == CONDEMNED;
    return WP_CLOCK_CONTRADICTION;
}

/* No point of the other kind before this one agrees with it, but for those of the same exchange. */
static bool is_amid(const struct wp_clock_points *other, uint32_t i, enum wp_clock_side side,
    struct wp_clock_point point, const struct wp_clock_steps *const steps[2])
{
    bool agrees = false;
    for (uint32_t n = 1; n <= i && n <= NEIGHBOURS; n++) {
        if (is_impossible(side, point, &other->points[i - n], steps))
            return true;
        agrees |= point.at_ns - other->points[i - n].at_ns > EXCHANGE_NS;
    }
    return !agrees;
}

static enum wp_clock_news judge(struct wp_clock_pair *pair, enum wp_clock_side side, struct wp_clock_point point,
    bool is_new, const struct wp_clock_steps *const steps[2])
{
    struct wp_clock_points *other = &pair->sides[!side];
    uint32_t i = find(other, point.at_ns + (point.at_ns < UINT64_MAX));
    bool before = i && is_impossible(side, point, &other->points[i - 1], steps);
    bool after = i < other->count && is_impossible(side, point, &other->points[i], steps);
    if (before || after) {
        /* Amid old points that say otherwise: the first host's clock went back and shows these times again. */
        if (after && is_amid(other, i, side, point, steps))
            for (int s = 0; s < 2; s++)
                pair->sides[s].count = find(&pair->sides[s], point.at_ns + (s == (int)side));
        return condemn(pair, point.at_ns);
    }
    pair->clean += is_new;
    if (pair->clean >= CLEAN) {
        pair->clean = 0;
        pair->score -= pair->score > 0;
        pair->is_condemned &= pair->score > 0;
    }
    return WP_CLOCK_TIGHTER;
}

/* How fast the offset grows now, for choosing among the points of a cell. */
static void refresh_slope(struct wp_clock_pair *pair, uint64_t at_ns, const struct wp_clock_steps *const steps[2])
{
    struct wp_clock_view view;
    wp_clock_view_make(&view, &(struct wp_clock_sight){pair, 0, {steps[0], steps[1]}}, at_ns, at_ns);
    const double *slope = view.flanks[0].lines.slope;
    pair->slope_at_ns = at_ns;
    if (view.flanks[0].is_closed)
        pair->slope = (int64_t)((slope[WP_LOWER] - slope[WP_UPPER]) / 2 * 4294967296.0);
}

static bool is_late(struct wp_clock_pair *pair, uint64_t at_ns)
{
    uint64_t newest_ns = 0;
    for (int s = 0; s < 2; s++)
        if (pair->sides[s].count && pair->sides[s].points[pair->sides[s].count - 1].at_ns > newest_ns)
            newest_ns = pair->sides[s].points[pair->sides[s].count - 1].at_ns;
    return newest_ns > at_ns && newest_ns - at_ns > WP_CLOCK_HISTORY_NS;
}

/* Where the points of the cell of that time begin, or would. */
static uint32_t cell_at(const struct wp_clock_points *own, uint64_t at_ns)
{
    bool is_last = own->count && same_cell(own->points[own->count - 1].at_ns, at_ns);
    uint32_t i = is_last ? own->count - 1 : find(own, at_ns);
    while (i && same_cell(own->points[i - 1].at_ns, at_ns))
        i--;
    return i;
}

/* Is it of the newest cell, and so far behind all others that moments between lack a constraint after them? */
static bool is_at_end(const struct wp_clock_points *own, uint64_t at_ns)
{
    uint64_t last_ns = own->points[own->count - 1].at_ns;
    return same_cell(last_ns, at_ns) && at_ns > last_ns && at_ns - last_ns >= END_NS;
}

/* What it replaces, from `begin` on: nothing, or fewer than three. */
struct place {
    uint32_t begin, count;
    bool is_new, is_useless; /* the first of its cell; says nothing more than those of its cell */
};

static struct place place_of(const struct wp_clock_pair *pair, enum wp_clock_side side, struct wp_clock_point point)
{
    const struct wp_clock_points *own = &pair->sides[side];
    const struct wp_clock_point *points = own->points;
    uint32_t i = cell_at(own, point.at_ns);
    if (i == own->count || !same_cell(points[i].at_ns, point.at_ns)) {
        /* traffic goes on: the cell before needs no end */
        bool is_end_before = i >= 2 && i == own->count && same_cell(points[i - 2].at_ns, points[i - 1].at_ns) &&
            (point.at_ns >> WP_CLOCK_CELL_BITS) - (points[i - 1].at_ns >> WP_CLOCK_CELL_BITS) == 1;
        return (struct place){.begin = i - is_end_before, .count = is_end_before, .is_new = true};
    }
    bool has_end = i + 1 < own->count && same_cell(points[i + 1].at_ns, point.at_ns);
    if (is_tighter(pair, side, point, &points[i]))
        return (struct place){.begin = i, .count = 1 + (has_end && points[i + 1].at_ns <= point.at_ns)};
    return (struct place){.begin = i + 1, .count = has_end, .is_useless = !is_at_end(own, point.at_ns)};
}

static void put_point(struct wp_clock_points *own, struct place place, struct wp_clock_point point)
{
    uint32_t i = place.begin, rest = own->count - i - place.count;
    memmove(own->points + i + 1, own->points + i + place.count, rest * sizeof(*own->points));
    own->count = i + 1 + rest;
    own->points[i] = point;
    own->is_mixed |= (i && goes_back(own, i - 1)) || (i + 1 < own->count && goes_back(own, i));
}

enum wp_clock_news wp_clock_pair_add(struct wp_clock_pair *pair, enum wp_clock_side side, struct wp_clock_point point,
    const struct wp_clock_steps *const steps[2])
{
    struct wp_clock_points *own = &pair->sides[side];
    struct place place = place_of(pair, side, point);
    if (place.is_useless && same_cell(own->points[own->count - 1].at_ns, point.at_ns)) {
        pair->late = 0;
        return WP_CLOCK_NOTHING;
    }
    if (is_late(pair, point.at_ns)) {
        if (++pair->late < LATE_LIMIT)
            return WP_CLOCK_LATE;
        pair->sides[0].count = pair->sides[1].count = 0;
        condemn(pair, point.at_ns);
        place = place_of(pair, side, point);
    }
    pair->late = 0;
    if (place.is_useless || !make_room(pair, own, side))
        return WP_CLOCK_NOTHING;
    place = place_of(pair, side, point); /* fewer may be left */
    put_point(own, place, point);
    if (!pair->first.at_ns || point.at_ns < pair->first.at_ns)
        pair->first = point;
    pair->is_two_way |= pair->sides[!side].count > 0;
    pair->version++;
    enum wp_clock_news news = judge(pair, side, point, place.is_new, steps);
    if (place.is_new && (point.at_ns - pair->slope_at_ns > SLOPE_PERIOD_NS))
        refresh_slope(pair, point.at_ns, steps);
    return news;
}
