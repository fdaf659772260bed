/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/clock_view.h"
#include "aggregator/clock_pair.h"

#include <math.h>
#include <string.h>

#define GRID_BITS 24 /* views begin and end at multiples of 17 ms, so that the next query finds them */

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
    struct seen points[WP_WEDGE_POINTS];
    unsigned count;
};

static struct seen_list list_of(const struct wp_clock_pair *pair, int from, enum wp_wedge_side side, bool is_after,
    uint64_t edge_ns)
{
    /* at most x ahead is at least x behind */
    const struct wp_clock_points *points = &pair->sides[from ? !side : side];
    struct seen_list list = {.count = 0};
    for (uint32_t n = 0; n < points->count && list.count < WP_WEDGE_POINTS; n++) {
        const struct wp_clock_point *point = &points->points[is_after ? n : points->count - 1 - n];
        uint64_t other_ns = point->at_ns + (uint64_t)point->offset_ns;
        uint64_t at_ns = from ? other_ns : point->at_ns;
        if (is_after ? at_ns < edge_ns : at_ns > edge_ns)
            continue;
        uint64_t distance_ns = is_after ? at_ns - edge_ns : edge_ns - at_ns;
        if (distance_ns > WP_CLOCK_WINDOW_NS) {
            if (!from)
                break;
            continue;
        }
        unsigned i = list.count++; /* seen from the second host they are sorted but for differing delays */
        for (; i && list.points[i - 1].distance_ns > distance_ns; i--)
            list.points[i] = list.points[i - 1];
        list.points[i] = (struct seen){distance_ns, from ? point->at_ns : other_ns,
            from ? -point->offset_ns : point->offset_ns};
    }
    return list;
}

/* Goes outward from the edge until the constraints contradict each other or a step was told: what is beyond says nothing
 * of this side. `other_ns`: the other host's clock at the nearest point. */
static void walk(struct wp_wedge *wedge, const struct seen_list lists[2], bool is_after, uint64_t edge_ns, int64_t origin_ns,
    const struct wp_clock_steps *own, const struct wp_clock_steps *other, uint64_t *other_ns)
{
    unsigned next[2] = {0, 0};
    wp_wedge_init(wedge);
    while (next[0] < lists[0].count || next[1] < lists[1].count) {
        bool is_lower = next[0] == lists[0].count || (next[1] < lists[1].count &&
            lists[1].points[next[1]].distance_ns < lists[0].points[next[0]].distance_ns);
        const struct seen *seen = &lists[is_lower].points[next[is_lower]++];
        uint64_t at_ns = is_after ? edge_ns + seen->distance_ns : edge_ns - seen->distance_ns;
        if (next[0] + next[1] == 1)
            *other_ns = seen->other_ns;
        if (wp_clock_steps_between(own, at_ns, edge_ns) || wp_clock_steps_between(other, seen->other_ns, *other_ns) ||
            !wp_wedge_add(wedge, is_lower ? WP_LOWER : WP_UPPER, (double)seen->distance_ns,
                (double)(seen->offset_ns - origin_ns)))
            return;
    }
}

static struct wp_clock_interval interval_of(const struct wp_clock_view *view, int is_after, uint64_t at_ns)
{
    double low, high;
    wp_wedge_interval(&view->flanks[is_after].lines, (double)(is_after ? view->high_ns - at_ns : at_ns - view->low_ns), &low,
        &high);
    return (struct wp_clock_interval){view->origin_ns + (int64_t)floor(low), view->origin_ns + (int64_t)ceil(high)};
}

enum crossing { CROSSED_NOT, CROSSED_PERHAPS, CROSSED };

/* The other host was told to have stepped between the nearest point and the stretch, going by that point's own offset. */
static enum crossing crossing(const struct wp_clock_view *view, bool is_after, const struct wp_clock_steps *other,
    uint64_t other_ns)
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

void wp_clock_view_make(struct wp_clock_view *view, const struct wp_clock_pair *pair, int from, uint64_t low_ns,
    uint64_t high_ns, const struct wp_clock_steps *const steps[2])
{
    *view = (struct wp_clock_view){.low_ns = low_ns, .high_ns = high_ns, .version = pair->version,
        .told = steps[0]->told + steps[1]->told};
    enum crossing crossed[2] = {CROSSED_NOT, CROSSED_NOT};
    bool has_origin = false;
    for (int is_after = 0; is_after < 2; is_after++) {
        uint64_t edge_ns = is_after ? view->high_ns : view->low_ns, other_ns = 0;
        struct wp_clock_flank *flank = &view->flanks[is_after];
        struct seen_list lists[2] = {list_of(pair, from, WP_UPPER, is_after, edge_ns),
            list_of(pair, from, WP_LOWER, is_after, edge_ns)};
        struct wp_wedge wedge;
        if (!has_origin && (lists[0].count || lists[1].count)) {
            view->origin_ns = lists[!lists[0].count].points[0].offset_ns;
            has_origin = true;
        }
        walk(&wedge, lists, is_after, edge_ns, view->origin_ns, steps[from], steps[!from], &other_ns);
        flank->is_closed = wp_wedge_is_closed(&wedge) &&
            !wp_clock_steps_between(steps[from], view->low_ns, view->high_ns);
        flank->lines = wedge.lines;
        if (flank->is_closed)
            crossed[is_after] = crossing(view, is_after, steps[!from], other_ns);
    }
    for (int i = 0; i < 2; i++)
        view->flanks[i].is_closed &= crossed[i] != CROSSED;
    for (int i = 0; i < 2; i++) /* on which side of the step the stretch lies is known only with both sides */
        view->flanks[i].is_closed &= crossed[i] == CROSSED_NOT || view->flanks[!i].is_closed;
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

bool wp_clock_view_map(struct wp_clock_pair *pair, int from, uint64_t at_ns, uint64_t slack_ns,
    const struct wp_clock_steps *const steps[2], struct wp_clock_interval *interval)
{
    if (slack_ns > WP_CLOCK_WINDOW_NS)
        return false;
    uint64_t first_ns = at_ns > slack_ns ? at_ns - slack_ns : 0;
    uint64_t last_ns = at_ns < UINT64_MAX - slack_ns ? at_ns + slack_ns : UINT64_MAX;
    uint64_t low_ns = first_ns >> GRID_BITS << GRID_BITS, high_ns = last_ns | ((1u << GRID_BITS) - 1);
    if (wp_clock_steps_between(steps[from], low_ns, high_ns)) { /* the exact stretch may lie on one side of it */
        low_ns = first_ns;
        high_ns = last_ns;
    }
    struct wp_clock_view *view = &pair->views[from];
    if (view->low_ns != low_ns || view->high_ns != high_ns || view->version != pair->version ||
        view->told != steps[0]->told + steps[1]->told)
        wp_clock_view_make(view, pair, from, low_ns, high_ns, steps);
    struct wp_clock_interval last;
    if (!wp_clock_view_at(view, first_ns, interval) || !wp_clock_view_at(view, last_ns, &last))
        return false;
    interval->low_ns = last.low_ns < interval->low_ns ? last.low_ns : interval->low_ns;
    interval->high_ns = last.high_ns > interval->high_ns ? last.high_ns : interval->high_ns;
    return true;
}
