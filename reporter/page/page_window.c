/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_window.h"

#include "common/intern.h"
#include "reporter/display/humanize.h"
#include "reporter/page/page_links.h"

#define TABLE_ROWS 200u

void wp_page_add_view(struct wp_display *display, const char *view)
{
    display->view = view;
    wp_display_add(display, WP_ITEM_VIEW, view);
}

static void add_paths(struct wp_display *display, const struct wp_trace *trace)
{
    static const struct wp_column columns[] = {
        {"Control path", NULL, WP_CELL_NAME},
        {"Thread", NULL, WP_CELL_ID},
        {"Kind", NULL, WP_CELL_TEXT},
        {"Pieces", NULL, WP_CELL_COUNT},
        {"Time", "Sum of its pieces", WP_CELL_DURATION},
    };
    size_t room = trace->path_count < TABLE_ROWS ? trace->path_count : TABLE_ROWS;
    struct wp_table *table = wp_display_table(display, "paths", columns, 5, room);
    for (uint32_t i = 0; i < trace->path_count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        uint32_t thread = trace->paths[i].thread;
        row[0].text = thread < trace->thread_count
            ? wp_pool_clip(&display->pool, wp_intern_text(trace->strings, trace->threads[thread].comm), 80)
            : "";
        row[1].number = thread < trace->thread_count ? trace->threads[thread].tid : 0;
        row[2].text = trace->paths[i].is_base ? "process of interest" : "waited for";
    }
    for (uint32_t i = 0; i < trace->piece_count; i++) {
        uint32_t path = trace->pieces[i].path;
        if (path >= table->row_count)
            continue;
        table->fields[path * 5 + 3].number++;
        table->fields[path * 5 + 4].number += trace->pieces[i].length_ns;
    }
}

static void sum_threads(struct wp_table *table, const struct wp_trace *trace)
{
    for (uint32_t i = 0; i < trace->run_count; i++) {
        uint32_t thread = trace->runs[i].thread;
        if (thread >= table->row_count)
            continue;
        table->fields[thread * 7 + 4].number++;
        table->fields[thread * 7 + 5].number += trace->runs[i].length_ns;
    }
    for (uint32_t i = 0; i < trace->sleep_count; i++)
        if (trace->sleeps[i].thread < table->row_count)
            table->fields[trace->sleeps[i].thread * 7 + 6].number += trace->sleeps[i].length_ns;
}

static void add_threads(struct wp_display *display, const struct wp_facts *facts, const struct wp_trace *trace)
{
    static const struct wp_column columns[] = {
        {"Process", NULL, WP_CELL_NAME},
        {"PID", NULL, WP_CELL_ID},
        {"Thread", NULL, WP_CELL_ID},
        {"Host", NULL, WP_CELL_NAME},
        {"Runs", NULL, WP_CELL_COUNT},
        {"Running", NULL, WP_CELL_DURATION},
        {"Asleep", NULL, WP_CELL_DURATION},
    };
    size_t room = trace->thread_count < TABLE_ROWS ? trace->thread_count : TABLE_ROWS;
    struct wp_table *table = wp_display_table(display, "threads", columns, 7, room);
    table->searchable = room > 10;
    for (uint32_t i = 0; i < trace->thread_count; i++) {
        const struct wp_trace_thread *thread = &trace->threads[i];
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = wp_pool_clip(&display->pool, wp_intern_text(trace->strings, thread->comm), 80);
        row[0].note = thread->is_base ? "process of interest" : NULL;
        if (*row[0].text)
            row[0].link =
                wp_page_flame_link(display, facts, "process", wp_pool_printf(&display->pool, "[%s]", row[0].text));
        else
            row[0].text = "?"; /* as in the flame */
        row[1].number = thread->pid;
        row[2].number = thread->tid;
        row[3].text = wp_pool_clip(&display->pool, wp_intern_text(trace->strings, thread->host), 80);
    }
    sum_threads(table, trace);
}

/* How much of an exemplar's control path is kept. */
static uint64_t drawn_of(const struct wp_trace *trace)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < trace->piece_count; i++)
        ns += trace->pieces[i].path ? 0 : trace->pieces[i].length_ns;
    return ns < trace->length_ns ? ns : trace->length_ns;
}

void wp_page_window(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_trace *trace, bool is_stacks)
{
    if (trace->omitted && trace == facts->trace)
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(&display->pool, "%s pieces of this window did not fit and are not drawn.",
                wp_human_count(&display->pool, trace->omitted)));
    else if (trace->omitted)
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(&display->pool,
                "%s pieces of this window did not fit and are not drawn: those that are make up %s of it.",
                wp_human_count(&display->pool, trace->omitted),
                wp_human_share(&display->pool, drawn_of(trace), trace->length_ns)));
    wp_page_add_view(display, is_stacks ? "chronology" : "running");
    wp_display_add(display, WP_ITEM_DETAILS, is_stacks ? "The control paths as a table" : "The threads as a table");
    if (is_stacks)
        add_paths(display, trace);
    else
        add_threads(display, facts, trace);
    wp_display_add(display, WP_ITEM_END, NULL);
}
