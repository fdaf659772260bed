/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/tasks_page.h"

#include "reporter/display/escape.h"
#include "reporter/display/humanize.h"
#include "reporter/html/html_curve.h"
#include "reporter/site/assets.h"

#include <errno.h>
#include <string.h>

struct writer {
    struct wp_buffer *out;
    struct wp_pool pool;
    const struct wp_task *tasks;
    size_t count;
};

static void put_style(struct wp_buffer *out)
{
    for (size_t i = 0; i < wp_asset_count; i++)
        if (!strcmp(wp_assets[i].name, "wakepath.css"))
            wp_buffer_append(out, wp_assets[i].bytes, wp_assets[i].size);
}

static void put_cell(struct writer *writer, const char *text)
{
    wp_buffer_puts(writer->out, "<td class=\"k-duration\">");
    wp_escape_html(writer->out, text);
    wp_buffer_puts(writer->out, "</td>");
}

static void put_head(struct writer *writer)
{
    struct wp_buffer *out = writer->out;
    wp_buffer_puts(out, "<table>\n<thead><tr><th scope=\"col\">Category</th>");
    for (size_t i = 0; i < writer->count; i++) {
        wp_buffer_puts(out, "<th scope=\"col\" class=\"k-duration\"><bdi>");
        wp_escape_html(out, writer->tasks[i].name);
        wp_buffer_puts(out, "</bdi></th>");
    }
    wp_buffer_puts(out, "</tr></thead>\n<tbody>\n");
}

static void put_durations(struct writer *writer, const char *title, size_t offset)
{
    wp_buffer_printf(writer->out, "<tr><th scope=\"row\">%s</th>", title);
    for (size_t i = 0; i < writer->count; i++) {
        uint64_t ns;
        memcpy(&ns, (const char *)&writer->tasks[i] + offset, sizeof(ns));
        put_cell(writer, wp_human_duration(&writer->pool, ns));
    }
    wp_buffer_puts(writer->out, "</tr>\n");
}

static void put_table(struct writer *writer)
{
    put_head(writer);
    put_durations(writer, "Wall time", offsetof(struct wp_task, wall_ns));
    put_durations(writer, "Total time", offsetof(struct wp_task, total_ns));
    for (size_t i = 0; i < WP_CATEGORIES; i++)
        put_durations(writer, wp_category_title((enum wp_category)i),
            offsetof(struct wp_task, parts) + i * sizeof(writer->tasks->parts[0]));
    wp_buffer_puts(writer->out, "<tr><th scope=\"row\">Accounted for</th>");
    for (size_t i = 0; i < writer->count; i++) {
        const struct wp_task *task = &writer->tasks[i];
        double missing = task->total_ns ? 100 * (double)task->parts[WP_UNACCOUNTED] / (double)task->total_ns : 0;
        put_cell(writer, wp_human_percent(&writer->pool, 100 - missing));
    }
    wp_buffer_puts(writer->out, "</tr>\n</tbody>\n</table>\n");
}

static void put_curves(struct writer *writer)
{
    struct wp_curve curves[WP_TASKS_DRAWN];
    size_t count = writer->count < WP_TASKS_DRAWN ? writer->count : WP_TASKS_DRAWN;
    for (size_t i = 0; i < count; i++) {
        curves[i] = (struct wp_curve){.name = writer->tasks[i].name};
        for (unsigned category = 0; category < WP_CATEGORIES; category++)
            curves[i].percent[category] = wp_task_explained(&writer->tasks[i], (enum wp_category)category);
    }
    wp_html_curves(writer->out, curves, count);
    if (count < writer->count)
        wp_buffer_printf(
            writer->out, "<p class=\"sub\">The first %zu of %zu tasks are drawn.</p>\n", count, writer->count);
}

int wp_tasks_page(struct wp_buffer *out, const struct wp_task *tasks, size_t count, struct wp_error *err)
{
    struct writer writer = {.out = out, .tasks = tasks, .count = count};
    wp_buffer_puts(out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>Categories of several tasks · Wakepath</title>\n<style>\n");
    put_style(out);
    wp_buffer_puts(out,
        "</style>\n</head>\n<body>\n<main id=\"main\">\n<h1>Categories of several tasks</h1>\n"
        "<p class=\"sub\">From best to least understood. The curves leave out what waits on other paths.</p>\n");
    put_curves(&writer);
    wp_buffer_puts(out, "<div class=\"scroll\">");
    put_table(&writer);
    wp_buffer_puts(out, "</div>\n</main>\n</body>\n</html>\n");
    bool has_failed = out->failed || writer.pool.failed;
    wp_pool_fini(&writer.pool);
    return has_failed ? wp_error_set(err, -ENOMEM, "out of memory for the page of the tasks") : 0;
}
