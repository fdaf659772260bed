/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/clock/clock_view.h"

#include "aggregator/clock/clock_types.h"
#include "common/array.h"

#include <math.h>
#include <string.h>

#define NEAR_NS 20000000u /* so long before all it knows of a pair the first constraints settle a moment alone */
#define GRID_BITS 24      /* views begin and end at multiples of 17 ms, so that the next query finds them */

bool wp_clock_steps_between(const struct wp_clock_steps *steps, uint64_t a_ns, uint64_t b_ns)
{
    uint64_t low = a_ns < b_ns ? a_ns : b_ns, high = a_ns < b_ns ? b_ns : a_ns;
    for (uint32_t i = 0; i < steps->count; i++)
        if (steps->at_ns[i] >= low && steps->at_ns[i] < high)
            return true;
    return false;
}

void wp_clock_steps_add(struct wp_clock_steps *steps, uint64_t at_ns)
{
    uint32_t i = 0;
    while (i < steps->count && steps->at_ns[i] < at_ns)
        i++;
    if (i < steps->count && steps->at_ns[i] == at_ns)
        return;
    steps->told++;
    if (steps->count == WP_CLOCK_STEPS) {
        if (!i)
            return;
        memmove(steps->at_ns, steps->at_ns + 1, --i * sizeof(*steps->at_ns));
    } else {
        memmove(steps->at_ns + i + 1, steps->at_ns + i, (steps->count++ - i) * sizeof(*steps->at_ns));
    }
    steps->at_ns[i] = at_ns;
}

struct seen { /* a point as the querying host sees it */
    uint64_t distance_ns, other_ns;
    int64_t offset_ns;
};

struct seen_list {
    struct seen points[WP_CLOCK_HULL_POINTS];
    unsigned count;
};

static uint64_t reading(const struct wp_clock_point *point, int from)
{
    return from ? point->at_ns + (uint64_t)point->offset_ns : point->at_ns;
}

/* The first point at or after the edge, or the one behind the last at or before it. In the second host's clock points
 * are sorted but for differing delays; to miss some is right, too. Not if that clock went back. */
static uint32_t position(const struct wp_clock_points *points, int from, bool is_after, uint64_t edge_ns)
{
    if (from && points->is_mixed)
        return is_after ? 0 : points->count;
    return is_after ? WP_LOWER_BOUND(middle, 0, points->count, reading(&points->points[middle], from) < edge_ns)
                    : WP_LOWER_BOUND(middle, 0, points->count, reading(&points->points[middle], from) <= edge_ns);
}

/* Moves a limit of an interval nearer to it, to the last point before it or the first one after it. */
static uint64_t narrow(const struct wp_clock_pair *pair, int from, bool is_after, uint64_t inner_ns, uint64_t limit_ns)
{
    for (int side = 0; side < 2; side++) {
        const struct wp_clock_points *points = &pair->sides[side];
        uint32_t i = position(points, from, is_after, inner_ns);
        if (is_after ? i == points->count : !i)
            continue;
        uint64_t at_ns = reading(&points->points[is_after ? i : i - 1], from);
        if (is_after ? at_ns >= inner_ns && at_ns < limit_ns : at_ns <= inner_ns && at_ns > limit_ns)
            limit_ns = at_ns;
    }
    return limit_ns;
}

/* The points of a kind on one side, outward. The farther, the fewer are needed: of those within an eighth of their
 * distance the tightest stays, going by the pair's drift. To leave one out is always right. */
static struct seen_list list_of(
    const struct wp_clock_pair *pair, int from, enum wp_clock_side side, bool is_after, uint64_t edge_ns)
{
    /* at most x ahead is at least x behind */
    const struct wp_clock_points *points = &pair->sides[from ? !side : side];
    double outward = (double)pair->slope / 4294967296.0 * (is_after == !from ? 1 : -1);
    struct seen_list list = {.count = 0};
    uint64_t first_ns = 0;
    uint32_t first = position(points, from, is_after, edge_ns);
    for (uint32_t i = first; is_after ? i < points->count : i; is_after ? i++ : i--) {
        const struct wp_clock_point *point = &points->points[is_after ? i : i - 1];
        uint64_t at_ns = reading(point, from);
        if (is_after ? at_ns < edge_ns : at_ns > edge_ns)
            continue;
        struct seen seen = {is_after ? at_ns - edge_ns : edge_ns - at_ns, reading(point, !from),
            from ? -point->offset_ns : point->offset_ns};
        if (seen.distance_ns > WP_CLOCK_WINDOW_NS) {
            if (from && points->is_mixed)
                continue;
            break;
        }
        struct seen *last = list.count ? &list.points[list.count - 1] : NULL;
        if (!last || (seen.distance_ns > last->distance_ns && seen.distance_ns - first_ns > seen.distance_ns / 8)) {
            if (list.count == WP_CLOCK_HULL_POINTS)
                break;
            list.points[list.count++] = seen;
            first_ns = seen.distance_ns;
            continue;
        }
        double more = (double)(seen.offset_ns - last->offset_ns) -
            outward * ((double)seen.distance_ns - (double)last->distance_ns);
        bool is_sorted = list.count < 2 || last[-1].distance_ns <= seen.distance_ns;
        if (is_sorted && (side == WP_UPPER ? more < 0 : more > 0))
            *last = seen;
    }
    return list;
}

struct walk {
    const struct wp_clock_steps *own, *other;
    uint64_t edge_ns;
    int64_t origin_ns;
    bool is_after, is_short; /* short: no farther than the nearest constraint of each kind */
};

/* Goes outward from the edge until the constraints contradict each other or a step was told: what is beyond says
 * nothing of this side. `other_ns`: the other host's clock at the nearest point. */
static void walk_out(
    const struct walk *walk, const struct seen_list lists[2], struct wp_clock_hull *hull, uint64_t *other_ns)
{
    unsigned next[2] = {0, 0};
    wp_clock_hull_init(hull);
    while (next[0] < lists[0].count || next[1] < lists[1].count) {
        bool is_lower = next[0] == lists[0].count ||
            (next[1] < lists[1].count && lists[1].points[next[1]].distance_ns < lists[0].points[next[0]].distance_ns);
        const struct seen *seen = &lists[is_lower].points[next[is_lower]++];
        uint64_t at_ns = walk->is_after ? walk->edge_ns + seen->distance_ns : walk->edge_ns - seen->distance_ns;
        if (next[0] + next[1] == 1)
            *other_ns = seen->other_ns;
        if (wp_clock_steps_between(walk->own, at_ns, walk->edge_ns) ||
            wp_clock_steps_between(walk->other, seen->other_ns, *other_ns) ||
            !wp_clock_hull_add(hull, is_lower ? WP_LOWER : WP_UPPER, (double)seen->distance_ns,
                (double)(seen->offset_ns - walk->origin_ns)) ||
            (walk->is_short && wp_clock_hull_is_closed(hull)))
            return;
    }
}

static struct wp_clock_interval interval_of(const struct wp_clock_view *view, int is_after, uint64_t at_ns)
{
    double low, high;
    uint64_t inward_ns = is_after ? view->high_ns - at_ns : at_ns - view->low_ns;
    wp_clock_hull_interval(&view->flanks[is_after].lines, (double)inward_ns, &low, &high);
    int64_t origin_ns = view->flanks[is_after].origin_ns;
    return (struct wp_clock_interval){origin_ns + (int64_t)floor(low), origin_ns + (int64_t)ceil(high)};
}

enum crossing { CROSSED_NOT, CROSSED_PERHAPS, CROSSED };

/* The other host was told to have stepped between the nearest point and the interval, going by that point's offset. */
static enum crossing crossing(
    const struct wp_clock_view *view, bool is_after, const struct wp_clock_steps *other, uint64_t other_ns)
{
    if (!other->count)
        return CROSSED_NOT;
    uint64_t near_ns = is_after ? view->high_ns : view->low_ns, far_ns = is_after ? view->low_ns : view->high_ns;
    struct wp_clock_interval near = interval_of(view, is_after, near_ns), far = interval_of(view, is_after, far_ns);
    near_ns += (uint64_t)(is_after ? near.high_ns : near.low_ns);
    far_ns += (uint64_t)(is_after ? far.low_ns : far.high_ns);
    bool is_ahead = is_after ? near_ns <= other_ns : near_ns >= other_ns;
    if (is_ahead && wp_clock_steps_between(other, other_ns, near_ns))
        return CROSSED;
    bool is_beyond = is_after ? far_ns <= other_ns : far_ns >= other_ns;
    return is_beyond && wp_clock_steps_between(other, other_ns, far_ns) ? CROSSED_PERHAPS : CROSSED_NOT;
}

/* One side of the interval. `crossed`: whether a told step parts it from there. */
static void make_flank(struct wp_clock_view *view, const struct wp_clock_sight *sight, bool is_after, bool is_short,
    enum crossing *crossed)
{
    const struct wp_clock_pair *pair = sight->pair;
    int from = sight->from;
    struct wp_clock_flank *flank = &view->flanks[is_after];
    struct walk walk = {.own = sight->steps[from],
        .other = sight->steps[!from],
        .edge_ns = is_after ? view->high_ns : view->low_ns,
        .is_after = is_after,
        .is_short = is_short};
    struct seen_list lists[2] = {
        list_of(pair, from, WP_UPPER, is_after, walk.edge_ns), list_of(pair, from, WP_LOWER, is_after, walk.edge_ns)};
    if (!lists[0].count || !lists[1].count)
        return;
    uint64_t other_ns = 0;
    struct wp_clock_hull hull;
    flank->origin_ns = walk.origin_ns = lists[0].points[0].offset_ns;
    walk_out(&walk, lists, &hull, &other_ns);
    flank->lines = hull.lines;
    flank->is_closed = wp_clock_hull_is_closed(&hull) && !wp_clock_steps_between(walk.own, view->low_ns, view->high_ns);
    if (flank->is_closed)
        *crossed = crossing(view, is_after, walk.other, other_ns);
}

void wp_clock_view_make(
    struct wp_clock_view *view, const struct wp_clock_sight *sight, uint64_t low_ns, uint64_t high_ns)
{
    enum crossing crossed[2] = {CROSSED_NOT, CROSSED_NOT};
    *view = (struct wp_clock_view){.low_ns = low_ns,
        .high_ns = high_ns,
        .version = sight->pair->version,
        .told = sight->steps[0]->told + sight->steps[1]->told};
    for (int i = 0; i < 2; i++)
        make_flank(view, sight, i, false, &crossed[i]);
    for (int i = 0; i < 2; i++)
        view->flanks[i].is_closed &= crossed[i] != CROSSED;
    for (int i = 0; i < 2; i++) /* on which side of the step the interval lies is known only with both sides */
        view->flanks[i].is_closed &= crossed[i] == CROSSED_NOT || view->flanks[!i].is_closed;
    view->is_settled = view->flanks[0].is_closed && view->flanks[1].is_closed;
    /* With one side alone, a step that nobody saw may part any of its constraints from the interval: the nearest ones
     * are the ones to believe. */
    for (int i = 0; i < 2; i++)
        if (view->flanks[i].is_closed && !view->is_settled)
            make_flank(view, sight, i, true, &crossed[i]);
}

/* Whatever happened to a clock, once, happened before the moment or after it; so one side holds (docs/clock.md). */
bool wp_clock_view_at(const struct wp_clock_view *view, uint64_t at_ns, struct wp_clock_interval *interval)
{
    *interval = (struct wp_clock_interval){INT64_MAX, INT64_MIN};
    for (int i = 0; i < 2; i++) {
        if (!view->flanks[i].is_closed)
            continue;
        struct wp_clock_interval one = interval_of(view, i, at_ns);
        interval->low_ns = one.low_ns < interval->low_ns ? one.low_ns : interval->low_ns;
        interval->high_ns = one.high_ns > interval->high_ns ? one.high_ns : interval->high_ns;
    }
    return interval->low_ns <= interval->high_ns;
}

/* Two hosts begin to talk: nothing that is known of them can be from before a step that nobody saw. */
static bool is_beginning(const struct wp_clock_pair *pair, int from, uint64_t at_ns)
{
    bool is_steady = !pair->contradicted_at_ns && !pair->sides[0].is_mixed && !pair->sides[1].is_mixed;
    return is_steady && pair->first.at_ns && at_ns <= reading(&pair->first, from) + NEAR_NS;
}

bool wp_clock_view_map(const struct wp_clock_sight *sight, uint64_t at_ns, uint64_t slack_ns,
    struct wp_clock_interval *interval, bool *is_settled)
{
    struct wp_clock_pair *pair = sight->pair;
    int from = sight->from;
    const struct wp_clock_steps *const *steps = sight->steps;
    if (slack_ns > WP_CLOCK_WINDOW_NS) /* nothing is near enough */
        return false;
    uint64_t first_ns = at_ns > slack_ns ? at_ns - slack_ns : 0;
    uint64_t last_ns = at_ns < UINT64_MAX - slack_ns ? at_ns + slack_ns : UINT64_MAX;
    uint64_t low_ns = first_ns >> GRID_BITS << GRID_BITS, high_ns = last_ns | ((1u << GRID_BITS) - 1);
    if (wp_clock_steps_between(steps[from], low_ns, high_ns)) { /* the exact interval may lie on one side of it */
        low_ns = first_ns;
        high_ns = last_ns;
    }
    struct wp_clock_view *view = &pair->views[from];
    low_ns = narrow(pair, from, false, first_ns, low_ns);
    high_ns = narrow(pair, from, true, last_ns, high_ns);
    if (view->low_ns != low_ns || view->high_ns != high_ns || view->version != pair->version ||
        view->told != steps[0]->told + steps[1]->told)
        wp_clock_view_make(view, sight, low_ns, high_ns);
    struct wp_clock_interval last;
    if (!wp_clock_view_at(view, first_ns, interval) || !wp_clock_view_at(view, last_ns, &last))
        return false;
    interval->low_ns = last.low_ns < interval->low_ns ? last.low_ns : interval->low_ns;
    interval->high_ns = last.high_ns > interval->high_ns ? last.high_ns : interval->high_ns;
    *is_settled = view->is_settled ||
        (view->flanks[1].is_closed && high_ns - last_ns <= NEAR_NS && is_beginning(pair, from, last_ns));
    return true;
}
