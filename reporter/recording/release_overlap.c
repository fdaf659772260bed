/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/recording/release_overlap.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/host_names.h"
#include "storage/kind/report_store.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

size_t wp_release_overlap_candidates(
    const struct wp_release_order *order, size_t release, size_t rows[WP_OVERLAP_CANDIDATES])
{
    const struct wp_release_row *own = &order->rows[release];
    size_t count = 0;
    for (size_t away = 1; away < order->count && count < WP_OVERLAP_CANDIDATES && own->last_ns; away++)
        for (int side = 0; side < 2 && count < WP_OVERLAP_CANDIDATES; side++) {
            size_t i = side ? release + away : release - away; /* below 0 it is beyond the end */
            const struct wp_release_row *other = i < order->count ? &order->rows[i] : NULL;
            if (other && other->last_ns > own->first_ns && other->first_ns < own->last_ns)
                rows[count++] = i;
        }
    return count;
}

/* Spans of a report ascend and lie apart. */
static void meet(struct wp_release_overlap *window, const struct wp_report *one, const struct wp_report *other)
{
    uint32_t counts[2], at[2] = {0, 0};
    const struct wp_span *spans[2] = {wp_report_spans(one, &counts[0]), wp_report_spans(other, &counts[1])};
    while (at[0] < counts[0] && at[1] < counts[1]) {
        const struct wp_span *a = &spans[0][at[0]], *b = &spans[1][at[1]];
        uint64_t from = a->start_ns > b->start_ns ? a->start_ns : b->start_ns,
                 to = a->end_ns < b->end_ns ? a->end_ns : b->end_ns;
        if (from < to) {
            window->from_ns = window->both_ns ? window->from_ns : from;
            window->to_ns = to;
            window->both_ns += to - from;
        }
        at[a->end_ns < b->end_ns ? 0 : 1]++;
    }
}

static int read_one(
    struct wp_page_context *context, const struct wp_stores *stores, const char *release, struct wp_error *err)
{
    const struct wp_facts *facts = context->facts;
    static const struct wp_selection everything;
    struct wp_snapshot snapshot;
    struct wp_snapshot_sum sum;
    int rc = wp_snapshot_begin(&snapshot, stores, release, err);
    if (rc)
        return rc;
    rc = wp_snapshot_report(&snapshot, facts->aggregate, &everything, &sum, err);
    wp_snapshot_end(&snapshot);
    if (rc)
        return rc;
    struct wp_release_overlap window = {.release = wp_pool_text(&context->pool, release)};
    meet(&window, facts->report, sum.report);
    window.here = wp_host_names(&context->pool, facts->report);
    window.there = wp_host_names(&context->pool, sum.report);
    wp_snapshot_sum_fini(&sum);
    if (window.both_ns)
        context->overlaps[context->overlap_count++] = window;
    return 0;
}

int wp_release_overlap_read(struct wp_page_context *context, const struct wp_stores *stores,
    const struct wp_release_order *order, struct wp_error *err)
{
    size_t rows[WP_OVERLAP_CANDIDATES], release = wp_release_order_find(order, context->facts->release);
    size_t count = release == SIZE_MAX ? 0 : wp_release_overlap_candidates(order, release, rows);
    context->overlaps = wp_pool_alloc(&context->pool, (count + 1) * sizeof(*context->overlaps));
    int rc = context->overlaps ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && !rc; i++) {
        rc = read_one(context, stores, order->rows[rows[i]].id, err);
        rc = rc == -ENOMEM ? rc : 0; /* it has no such aggregate, or is damaged, which its own page says */
    }
    return rc || context->pool.failed ? wp_error_set(err, -ENOMEM, "out of memory for mixed releases") : 0;
}

const char *wp_release_overlap_sentence(struct wp_pool *pool, const struct wp_release_overlap *rows, size_t count)
{
    uint64_t longest = 0;
    size_t at = 0;
    for (size_t i = 0; i < count; i++)
        if (rows[i].both_ns > longest) {
            longest = rows[i].both_ns;
            at = i;
        }
    if (!count)
        return NULL;
    const char *more =
        count > 1 ? wp_pool_printf(pool, ", and %zu other %s", count - 1, count == 2 ? "release" : "releases") : "";
    return wp_pool_printf(pool, "Mixed releases: for %s (%s to %s) release %s ran at the same time, on %s%s.",
        wp_human_duration(pool, longest), wp_human_time(pool, rows[at].from_ns), wp_human_time(pool, rows[at].to_ns),
        rows[at].release, *rows[at].there ? rows[at].there : "hosts without a name", more);
}

void wp_release_overlap_table(struct wp_display *display, const struct wp_release_overlap *rows, size_t count)
{
    static const struct wp_column columns[] = {
        {"Other release", NULL, WP_CELL_NAME},
        {"From", NULL, WP_CELL_TEXT},
        {"To", NULL, WP_CELL_TEXT},
        {"Both active", NULL, WP_CELL_DURATION},
        {"Hosts of this one", NULL, WP_CELL_STACK},
        {"Hosts of the other", NULL, WP_CELL_STACK},
    };
    if (!count)
        return;
    wp_display_heading(display, "Mixed releases");
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "Hosts of this service ran other releases at the same time; what they waited for may be those.");
    struct wp_table *table = wp_display_table(display, "mixed", columns, 6, count);
    for (size_t i = 0; i < count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            return;
        row[0].text = rows[i].release;
        row[1].text = wp_human_time(&display->pool, rows[i].from_ns);
        row[2].text = wp_human_time(&display->pool, rows[i].to_ns);
        row[3].number = rows[i].both_ns;
        row[4].text = rows[i].here;
        row[5].text = rows[i].there;
    }
}
