/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/html/html_latency.h"

#include "reporter/display/escape.h"
#include "reporter/display/humanize.h"
#include "storage/value/latency.h"

/* Geometry of the drawing, in its own units. */
#define LEFT 84.0
#define TOP 12.0
#define WIDTH 900.0
#define HEIGHT 150.0
#define LEAST 2.0 /* a column is at least so high: one request in a million is seen */
#define LABELS 6u

static void put_axes(
    struct wp_buffer *out, struct wp_pool *pool, unsigned first, unsigned last, double step, uint64_t most)
{
    unsigned stride = (last - first) / LABELS + 1;
    for (unsigned i = 0; i <= 2; i++) {
        double y = TOP + HEIGHT * (1 - i / 2.0);
        wp_buffer_printf(out,
            "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
            "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
            LEFT, LEFT + WIDTH, y, y, LEFT - 10, y + 4, wp_human_count(pool, most * i / 2));
    }
    for (unsigned bucket = first; bucket <= last; bucket += stride)
        wp_buffer_printf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\">%s</text>\n", LEFT + (bucket - first) * step,
            TOP + HEIGHT + 20, wp_human_duration(pool, wp_latency_floor(bucket)));
}

void wp_html_latency(struct wp_buffer *out, const struct wp_latency_column *columns, size_t count, const char *label)
{
    struct wp_pool pool = {0};
    uint64_t most = 0;
    if (!count)
        return;
    for (size_t i = 0; i < count; i++)
        most = columns[i].count > most ? columns[i].count : most;
    unsigned first = wp_latency_bucket(columns[0].from_ns), last = wp_latency_bucket(columns[count - 1].from_ns);
    double step = WIDTH / (last - first + 1) < 40 ? WIDTH / (last - first + 1) : 40;
    wp_buffer_printf(out,
        "<div class=\"scroll\"><svg class=\"curve timeline\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" aria-label=\"",
        LEFT + WIDTH + 16, TOP + HEIGHT + 34);
    wp_escape_html(out, label);
    wp_buffer_puts(out, "\">\n");
    put_axes(out, &pool, first, last, step, most);
    for (size_t i = 0; i < count; i++) {
        double height = HEIGHT * (double)columns[i].count / (double)most,
               x = LEFT + (wp_latency_bucket(columns[i].from_ns) - first) * step;
        height = height < LEAST ? LEAST : height;
        wp_buffer_printf(out,
            "<g><title>%s to %s: %s</title><rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" "
            "height=\"%.2f\"/></g>\n",
            wp_human_duration(&pool, columns[i].from_ns), wp_human_duration(&pool, columns[i].to_ns),
            wp_human_count(&pool, columns[i].count), columns[i].is_slow ? "f-worse" : "f-better", x + step * 0.06,
            TOP + HEIGHT - height, step * 0.88, height);
    }
    wp_buffer_puts(out, "</svg></div>\n");
    out->failed |= pool.failed;
    wp_pool_fini(&pool);
}
