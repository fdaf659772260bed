/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/drop_spans.h"

#include "common/array.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void wp_drop_spans_fini(struct wp_drop_spans *spans)
{
    free(spans->rows);
    *spans = (struct wp_drop_spans){0};
}

/* The first span that ends at `at_ns` or later. */
static uint32_t find(const struct wp_drop_spans *spans, uint64_t at_ns)
{
    return WP_LOWER_BOUND(middle, 0, spans->count, spans->rows[middle].to_ns < at_ns);
}

static void remove_rows(struct wp_drop_spans *spans, uint32_t first, uint32_t end)
{
    if (first == end)
        return;
    memmove(spans->rows + first, spans->rows + end, (spans->count - end) * sizeof(*spans->rows));
    spans->count -= end - first;
}

static bool has_room(struct wp_drop_spans *spans)
{
    return spans->count < WP_DROP_SPANS && !WP_ARRAY_FIT(spans->rows, spans->room, spans->count + 1);
}

/* Two neighbours become one: the two with the narrowest gap between them. */
static void join_nearest(struct wp_drop_spans *spans)
{
    uint32_t nearest = 1;
    for (uint32_t i = 2; i < spans->count; i++)
        if (spans->rows[i].from_ns - spans->rows[i - 1].to_ns <
            spans->rows[nearest].from_ns - spans->rows[nearest - 1].to_ns)
            nearest = i;
    spans->rows[nearest - 1].to_ns = spans->rows[nearest].to_ns;
    remove_rows(spans, nearest, nearest + 1);
}

void wp_drop_spans_add(struct wp_drop_spans *spans, uint64_t from_ns, uint64_t to_ns)
{
    struct wp_drop_span span = {from_ns, to_ns + (to_ns < UINT64_MAX)};
    uint32_t first = find(spans, span.from_ns), end = first;
    for (; end < spans->count && spans->rows[end].from_ns <= span.to_ns; end++) {
        const struct wp_drop_span *row = &spans->rows[end];
        span.from_ns = row->from_ns < span.from_ns ? row->from_ns : span.from_ns;
        span.to_ns = row->to_ns > span.to_ns ? row->to_ns : span.to_ns;
    }
    if (first == end) {
        if (!has_room(spans)) {
            if (spans->count < 2)
                return; /* out of memory */
            join_nearest(spans);
            wp_drop_spans_add(spans, from_ns, to_ns);
            return;
        }
        memmove(spans->rows + first + 1, spans->rows + first, (spans->count - first) * sizeof(*spans->rows));
        spans->count++;
    } else {
        remove_rows(spans, first + 1, end);
    }
    spans->rows[first] = span;
}

uint64_t wp_drop_spans_overlap(const struct wp_drop_spans *spans, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t sum = 0;
    for (uint32_t i = find(spans, start_ns); i < spans->count && spans->rows[i].from_ns < end_ns; i++) {
        uint64_t from = spans->rows[i].from_ns > start_ns ? spans->rows[i].from_ns : start_ns;
        uint64_t to = spans->rows[i].to_ns < end_ns ? spans->rows[i].to_ns : end_ns;
        sum += to > from ? to - from : 0;
    }
    return sum;
}

void wp_drop_spans_forget(struct wp_drop_spans *spans, uint64_t horizon_ns)
{
    remove_rows(spans, 0, find(spans, horizon_ns));
}

uint64_t wp_drop_spans_begun(const struct wp_drop_spans *spans, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t count = 0;
    for (uint32_t i = find(spans, start_ns); i < spans->count && spans->rows[i].from_ns < end_ns; i++)
        count += spans->rows[i].from_ns >= start_ns;
    return count;
}
