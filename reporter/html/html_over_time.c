/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/html/html_over_time.h"

#include "common/clock.h"
#include "reporter/display/humanize.h"
#include "reporter/html/html_parts.h"
#include "storage/value/category.h"

#include <string.h>

/* Geometry of the drawing, in its own units. */
#define LEFT 84.0
#define TOP 12.0
#define WIDTH 900.0
#define HEIGHT 190.0
#define GAP 0.6 /* of a bucket, where nothing was recorded */

static void put_axis(struct wp_buffer *out, struct wp_pool *pool, const struct wp_over_time *timeline)
{
    for (unsigned i = 0; i <= 2; i++) {
        double y = TOP + HEIGHT * (1 - i / 2.0);
        wp_buffer_printf(out,
            "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
            "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
            LEFT, LEFT + WIDTH, y, y, LEFT - 10, y + 4, wp_human_duration(pool, timeline->most_ns * i / 2));
    }
}

static void put_bucket(struct wp_buffer *out, struct wp_pool *pool, const struct wp_over_time *timeline, uint32_t place,
    double x, double width)
{
    const struct wp_time_bucket *bucket = &timeline->buckets[place];
    double y = TOP + HEIGHT;
    for (unsigned i = 0; i < WP_CATEGORIES; i++) {
        double height = HEIGHT * (double)bucket->categories[i] / (double)timeline->most_ns;
        if (!bucket->categories[i])
            continue;
        y -= height;
        wp_buffer_printf(out, "<g><title>%s, %s: %s, %s of it</title>", wp_human_time(pool, bucket->start_ns),
            wp_category_title((enum wp_category)i), wp_human_duration(pool, bucket->categories[i]),
            wp_human_share(pool, bucket->categories[i], bucket->total_ns));
        wp_buffer_printf(out, "<rect class=\"c-%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/></g>\n",
            wp_category_key((enum wp_category)i), x, y, width, height);
    }
}

/* The address knows whole milliseconds: rounded outwards, the view takes what lies inside. */
static void put_link(struct wp_buffer *out, struct wp_pool *pool, enum wp_page_kind from,
    const struct wp_over_time *timeline, const struct wp_link *link, uint64_t start_ns)
{
    struct wp_link there = *link;
    there.fragment = wp_pool_printf(pool, "from=%llu&to=%llu", (unsigned long long)((start_ns + 500000) / WP_NS_PER_MS),
        (unsigned long long)((start_ns + timeline->width_ns + 500000) / WP_NS_PER_MS));
    wp_buffer_puts(out, "<a href=\"");
    wp_html_href(out, from, &there);
    wp_buffer_printf(out, "\" aria-label=\"The flame of %s\">", wp_human_time(pool, start_ns));
}

/* What happened in the bucket that is drawn from x on. */
static void put_marks(
    struct wp_buffer *out, const struct wp_over_time *timeline, uint64_t start_ns, double x, double step)
{
    for (uint32_t i = 0; i < timeline->mark_count; i++) {
        const struct wp_time_mark *mark = &timeline->marks[i];
        if (mark->time_ns < start_ns || mark->time_ns - start_ns >= timeline->width_ns)
            continue;
        double at = x + step * (double)(mark->time_ns - start_ns) / (double)timeline->width_ns;
        wp_buffer_puts(out, "<g><title>");
        wp_html_text(out, mark->text);
        wp_buffer_printf(out, "</title><line class=\"mark\" x1=\"%.2f\" x2=\"%.2f\" y1=\"%.1f\" y2=\"%.1f\"/></g>\n",
            at, at, TOP - 8, TOP + HEIGHT);
    }
}

void wp_html_over_time(
    struct wp_buffer *out, enum wp_page_kind from, const struct wp_over_time *timeline, const struct wp_link *link)
{
    struct wp_pool pool = {0};
    double units = timeline->count, at = 0;
    if (timeline->count < 2 || !timeline->most_ns)
        return;
    for (uint32_t i = 0; i < timeline->count; i++)
        units += timeline->buckets[i].is_after_gap ? GAP : 0;
    double step = WIDTH / units < 60 ? WIDTH / units : 60;
    wp_buffer_printf(out,
        "<div class=\"scroll\"><svg class=\"curve timeline\" viewBox=\"0 0 %.0f %.0f\" role=\"group\" "
        "aria-label=\"Time by category over time\">\n",
        LEFT + WIDTH + 16, TOP + HEIGHT + 34);
    put_axis(out, &pool, timeline);
    for (uint32_t i = 0; i < timeline->count; i++) {
        at += timeline->buckets[i].is_after_gap ? GAP : 0;
        double x = LEFT + at * step;
        if (link->set)
            put_link(out, &pool, from, timeline, link, timeline->buckets[i].start_ns);
        put_bucket(out, &pool, timeline, i, x + step * 0.04, step * 0.92);
        wp_buffer_puts(out, link->set ? "</a>" : "");
        put_marks(out, timeline, timeline->buckets[i].start_ns, x, step);
        if (!i || i + 1 == timeline->count) {
            const char *moment = wp_human_time(&pool, timeline->buckets[i].start_ns + (i ? timeline->width_ns : 0));
            wp_buffer_printf(out,
                "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" data-moment=\"%s\">%s</text>\n",
                i ? x + step : x, TOP + HEIGHT + 22, i ? "end" : "start", moment,
                strlen(moment) > 11 ? moment + 11 : moment);
        }
        at += 1;
    }
    wp_buffer_puts(out, "</svg></div>\n");
    out->failed |= pool.failed;
    wp_pool_fini(&pool);
}
