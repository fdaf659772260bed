/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/clock/clock_span.h"

#include "aggregator/clock/clock_types.h"
#include "aggregator/clock/clock_view.h"
#include "common/clock.h"

#include <math.h>

#define CELL_BITS 28 /* 268 ms; within one the interval is checked at its ends, and bends outward between them */
#define CELLS 38u    /* about 10 s */
#define FIT 3.0      /* the bound of a span against the best interval in it */
#define LONGEST_NS (3600 * WP_NS_PER_S)

struct knot {
    uint64_t at_ns;
    struct wp_clock_interval interval;
};

struct span_maker {
    struct knot knots[2 * CELLS];
    unsigned count;
    bool is_settled;
};

static int64_t middle_of(const struct knot *knot)
{
    return knot->interval.low_ns + (int64_t)(((uint64_t)knot->interval.high_ns - (uint64_t)knot->interval.low_ns) / 2);
}

/* The line from the first knot to the last; half the narrowest interval goes to *half_ns. */
static struct wp_clock_span line_of(const struct span_maker *maker, double *half_ns)
{
    const struct knot *first = &maker->knots[0], *last = &maker->knots[maker->count - 1];
    struct wp_clock_span span = {
        .from_ns = first->at_ns, .to_ns = last->at_ns, .offset_ns = middle_of(first), .is_settled = maker->is_settled};
    double bound = 0;
    *half_ns = INFINITY;
    if (span.to_ns > span.from_ns)
        span.drift_ppb =
            (int64_t)round(1e9 * (double)(middle_of(last) - span.offset_ns) / (double)(span.to_ns - span.from_ns));
    for (unsigned i = 0; i < maker->count; i++) {
        const struct knot *knot = &maker->knots[i];
        double line = (double)span.drift_ppb * (double)(knot->at_ns - span.from_ns) / 1e9;
        double low = (double)(knot->interval.low_ns - span.offset_ns);
        double high = (double)(knot->interval.high_ns - span.offset_ns);
        bound = fmax(bound, fmax(high - line, line - low));
        *half_ns = fmin(*half_ns, (high - low) / 2);
    }
    span.bound_ns = (uint64_t)ceil(bound) + 1;
    return span;
}

static void close_span(struct span_maker *maker, struct wp_clock_span *spans, size_t room, size_t *count)
{
    double half_ns;
    if (maker->count && *count < room)
        spans[(*count)++] = line_of(maker, &half_ns);
    maker->count = 0;
    maker->is_settled = true;
}

size_t wp_clock_spans_make(
    const struct wp_clock_sight *sight, uint64_t from_ns, uint64_t to_ns, struct wp_clock_span *spans, size_t room)
{
    struct span_maker maker = {.is_settled = true};
    size_t count = 0;
    if (to_ns > from_ns && to_ns - from_ns > LONGEST_NS)
        to_ns = from_ns + LONGEST_NS;
    for (uint64_t at_ns = from_ns, end_ns; at_ns < to_ns && count < room; at_ns = end_ns) {
        struct wp_clock_view view;
        struct wp_clock_interval first, last;
        uint64_t rest_ns = ((uint64_t)1 << CELL_BITS) - (at_ns & (((uint64_t)1 << CELL_BITS) - 1));
        end_ns = to_ns - at_ns > rest_ns ? at_ns + rest_ns : to_ns;
        wp_clock_view_make(&view, sight, at_ns, end_ns);
        if (!wp_clock_view_at(&view, at_ns, &first) || !wp_clock_view_at(&view, end_ns, &last)) {
            close_span(&maker, spans, room, &count);
            continue;
        }
        bool is_settled = view.is_settled;
        if (maker.count == 2 * CELLS)
            close_span(&maker, spans, room, &count);
        bool was_settled = maker.is_settled;
        maker.knots[maker.count++] = (struct knot){at_ns, first};
        maker.knots[maker.count++] = (struct knot){end_ns, last};
        maker.is_settled &= is_settled;
        double half_ns;
        struct wp_clock_span span = line_of(&maker, &half_ns);
        if (maker.count == 2 || ((double)span.bound_ns <= FIT * half_ns && was_settled == is_settled))
            continue;
        maker.count -= 2; /* it begins the next one */
        maker.is_settled = was_settled;
        close_span(&maker, spans, room, &count);
        maker.knots[maker.count++] = (struct knot){at_ns, first};
        maker.knots[maker.count++] = (struct knot){end_ns, last};
        maker.is_settled = is_settled;
    }
    close_span(&maker, spans, room, &count);
    return count;
}
