/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/html/html_curve.h"

#include "reporter/display/escape.h"
#include "reporter/display/humanize.h"
#include "storage/value/category.h"

/* Geometry of the drawing, in its own units. */
#define LEFT 104.0
#define TOP 16.0
#define WIDTH 680.0
#define HEIGHT 230.0
#define STEPS (WP_CATEGORIES - 2) /* unaccounted is what stays missing; the other path is off the denominator */

static double y_of(double percent)
{
    return TOP + HEIGHT * (1 - percent / 100);
}

static void put_grid(struct wp_buffer *out)
{
    for (int percent = 0; percent <= 100; percent += 25) {
        double y = y_of(percent);
        wp_buffer_printf(out,
            "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"/>"
            "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n",
            LEFT, LEFT + WIDTH, y, y, LEFT - 10, y + 4, percent);
    }
}

static void put_step(
    struct wp_buffer *out, unsigned place, unsigned category, double before, double after, const char *text)
{
    double step = WIDTH / STEPS, x = LEFT + step * place, middle = x + step / 2, top = y_of(after);
    const char *key = wp_category_key((enum wp_category)category),
               *title = wp_category_title((enum wp_category)category);
    wp_buffer_printf(out, "<g><title>%s: %s</title>", title, text);
    wp_buffer_printf(out, "<rect class=\"c-%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" rx=\"2\"/>", key,
        x + 5, top, step - 10, y_of(before) - top > 1.5 ? y_of(before) - top : 1.5);
    wp_buffer_printf(out,
        "<text class=\"axis\" transform=\"translate(%.1f %.1f) rotate(-38)\" text-anchor=\"end\">"
        "%s</text></g>\n",
        middle + 4, TOP + HEIGHT + 20, title);
}

void wp_html_curve(struct wp_buffer *out, const uint64_t *parts)
{
    struct wp_pool pool = {0};
    struct wp_buffer line = {0};
    uint64_t whole = 0, sum = 0;
    for (unsigned i = 0; i < WP_CATEGORIES; i++)
        whole += i == WP_OTHER_PATH ? 0 : parts[i];
    if (!whole)
        return;
    wp_buffer_printf(out,
        "<div class=\"scroll\"><svg class=\"curve\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
        "aria-label=\"Cumulative percent explained\">\n",
        LEFT + WIDTH + 54, TOP + HEIGHT + 130);
    put_grid(out);
    for (unsigned i = 0, place = 0; i < WP_CATEGORIES; i++) {
        if (i == WP_OTHER_PATH || i == WP_UNACCOUNTED)
            continue;
        double before = 100.0 * (double)sum / (double)whole;
        sum += parts[i];
        double after = 100.0 * (double)sum / (double)whole, step = WIDTH / STEPS;
        put_step(out, place, i, before, after,
            wp_pool_printf(
                &pool, "%s, together %s", wp_human_duration(&pool, parts[i]), wp_human_percent(&pool, after)));
        wp_buffer_printf(&line, "%s%.2f %.2f", place ? " L" : "M", LEFT + step * (place + 0.5), y_of(after));
        place++;
    }
    wp_buffer_printf(out, "<path class=\"line\" d=\"%s\"/>\n", line.data ? (const char *)line.data : "");
    wp_buffer_printf(out, "<text class=\"result\" x=\"%.1f\" y=\"%.1f\">%s</text></svg></div>\n", LEFT + WIDTH - 8,
        y_of(100.0 * (double)sum / (double)whole) - 6 < TOP + 8 ? TOP + 22
                                                                : y_of(100.0 * (double)sum / (double)whole) - 6,
        wp_human_percent(&pool, 100.0 * (double)sum / (double)whole));
    out->failed |= pool.failed || line.failed;
    wp_buffer_fini(&line);
    wp_pool_fini(&pool);
}

/* --- several --- */

#define KEY_COLUMN 170.0
#define KEY_LINE 18.0

static bool is_step(unsigned category)
{
    return category != WP_OTHER_PATH && category != WP_UNACCOUNTED;
}

static void put_axis(struct wp_buffer *out)
{
    for (unsigned i = 0, place = 0; i < WP_CATEGORIES; i++)
        if (is_step(i))
            wp_buffer_printf(out,
                "<text class=\"axis\" transform=\"translate(%.1f %.1f) rotate(-38)\" text-anchor=\"end\">%s</text>\n",
                LEFT + WIDTH / STEPS * (place++ + 0.5) + 4, TOP + HEIGHT + 20, wp_category_title((enum wp_category)i));
}

static void put_curve(struct wp_buffer *out, const struct wp_curve *curve, size_t at)
{
    double y = TOP + HEIGHT + 140 + KEY_LINE * (double)(at / 4), x = LEFT + KEY_COLUMN * (double)(at % 4), last = 0;
    wp_buffer_printf(out, "<path class=\"line task t-%zu\" d=\"", at % 8);
    for (unsigned i = 0, place = 0; i < WP_CATEGORIES; i++) {
        if (!is_step(i))
            continue;
        last = curve->percent[i];
        wp_buffer_printf(out, "%s%.2f %.2f", place ? " L" : "M", LEFT + WIDTH / STEPS * (place + 0.5), y_of(last));
        place++;
    }
    wp_buffer_puts(out, "\"><title>");
    wp_escape_html(out, curve->name);
    wp_buffer_printf(out, ": %.1f %%</title></path>\n<path class=\"line task t-%zu\" d=\"M%.1f %.1f h24\"/>", last,
        at % 8, x, y - 4);
    wp_buffer_printf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\">", x + 30, y);
    wp_escape_html(out, curve->name);
    wp_buffer_printf(out, " %.1f %%</text>\n", last);
}

void wp_html_curves(struct wp_buffer *out, const struct wp_curve *curves, size_t count)
{
    if (!count)
        return;
    wp_buffer_printf(out,
        "<div class=\"scroll\"><svg class=\"curve\" viewBox=\"0 0 %.0f %.0f\" role=\"img\" "
        "aria-label=\"Cumulative percent explained of %zu tasks\">\n",
        LEFT + WIDTH + 54, TOP + HEIGHT + 140 + KEY_LINE * (double)((count + 3) / 4), count);
    put_grid(out);
    put_axis(out);
    for (size_t i = 0; i < count; i++)
        put_curve(out, &curves[i], i);
    wp_buffer_puts(out, "</svg></div>\n");
}
