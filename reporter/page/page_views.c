/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/display/humanize.h"
#include "reporter/facts/stack_text.h"
#include "reporter/page/page.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_ROWS 200u

static void add_view(struct wp_display *display, const char *view)
{
    display->view = view;
    wp_display_add(display, WP_ITEM_VIEW, view);
}

static int compare_cells(const void *left, const void *right)
{
    const struct wp_cell *const *a = left, *const *b = right;
    if ((*a)->ns != (*b)->ns)
        return (*a)->ns > (*b)->ns ? -1 : 1;
    return *a < *b ? -1 : *a > *b; /* the flame's own order breaks ties */
}

/* Where "path:[name]" leads: to the control path that stands on the ground by itself, else to all of that process; none for
 * other frames. */
static struct wp_link path_link(struct wp_display *display, const struct wp_facts *facts, uint32_t frame)
{
    const struct wp_flame *flame = &facts->flame;
    const char *name = wp_facts_frame_name(facts, frame);
    if (wp_facts_frame_style(facts, frame) != WP_STYLE_WAIT || strncmp(name, "path:", 5))
        return (struct wp_link){0};
    name += 5;
    for (uint32_t base = 1; base < flame->count; base = flame->nodes[base].end)
        if (wp_facts_frame_style(facts, flame->nodes[base].frame) == WP_STYLE_PROCESS &&
            !strcmp(wp_facts_frame_name(facts, flame->nodes[base].frame), name))
            return wp_link_to(WP_PAGE_FLAME, facts->release, facts->aggregate,
                wp_pool_printf(&display->pool, "node=%08" PRIx32, flame->nodes[base].permalink));
    return wp_page_flame_link(display, facts, "process", name);
}

static void add_stacks(struct wp_display *display, const struct wp_facts *facts)
{
    static const struct wp_column columns[] = {
        {"Pseudo-stack", NULL, WP_COLUMN_STACK},
        {"Category", NULL, WP_COLUMN_TEXT},
        {"Time", NULL, WP_COLUMN_DURATION},
        {"Share", "Of the total", WP_COLUMN_SHARE},
        {"Pieces", NULL, WP_COLUMN_COUNT},
    };
    const struct wp_flame *flame = &facts->flame;
    size_t room = flame->cell_count < TABLE_ROWS ? flame->cell_count : TABLE_ROWS;
    struct wp_table *table = wp_display_table(display, "stacks", columns, 5, room);
    const struct wp_cell **sorted = calloc(flame->cell_count + 1u, sizeof(*sorted));
    table->whole_ns = facts->total_ns;
    for (uint32_t i = 0; sorted && i < flame->cell_count; i++)
        sorted[i] = &flame->cells[i];
    if (sorted)
        qsort(sorted, flame->cell_count, sizeof(*sorted), compare_cells);
    for (uint32_t i = 0; sorted && i < flame->cell_count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        const struct wp_flame_node *node = &flame->nodes[sorted[i]->node];
        row[0].text = wp_stack_text(&display->pool, facts, node->source);
        row[0].link = wp_link_to(WP_PAGE_FLAME, facts->release, facts->aggregate,
            wp_pool_printf(&display->pool, "node=%08" PRIx32, node->permalink));
        row[1].text = wp_category_title((enum wp_category)sorted[i]->category);
        row[1].swatch = (int)sorted[i]->category + 1;
        row[1].link = path_link(display, facts, node->frame);
        row[2].number = row[3].number = sorted[i]->ns;
        row[2].link = wp_page_behind_node(display, facts, node->permalink);
        row[4].number = sorted[i]->count;
    }
    if (!sorted)
        display->pool.failed = true;
    free(sorted);
}

void wp_page_flame(struct wp_display *display, const struct wp_facts *facts)
{
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "All pseudo-stacks gathered: width is time, and what stands on a sleep is what that sleep waited for, in whichever "
        "process it happened.");
    add_view(display, "flame");
    wp_display_add(display, WP_ITEM_DETAILS, "The same as a table");
    add_stacks(display, facts);
    wp_display_add(display, WP_ITEM_END, NULL);
}

static const char *trace_text(const struct wp_trace *trace, uint32_t string)
{
    return wp_intern_text(trace->strings, string);
}

/* The host that the window is of: its time is that one's. NULL: no thread of interest is in it. */
static const char *home_of(struct wp_display *display, const struct wp_trace *trace)
{
    for (uint32_t i = 0; i < trace->path_count; i++)
        if (trace->paths[i].is_base && trace->paths[i].thread < trace->thread_count)
            return wp_pool_clip(&display->pool, trace_text(trace, trace->threads[trace->paths[i].thread].host), 80);
    return NULL;
}

static bool has_window(struct wp_display *display, const struct wp_facts *facts)
{
    const struct wp_trace *trace = facts->trace;
    struct wp_pool *pool = &display->pool;
    if (!trace) {
        wp_display_add(display, WP_ITEM_NOTICE,
            "No window of this aggregate was kept event by event, so there is nothing to lay out over time. The Flame page "
            "shows everything gathered.");
        return false;
    }
    const char *length = wp_human_duration(pool, trace->length_ns), *home = home_of(display, trace);
    display->subtitle = !trace->start_ns ? length : home
        ? wp_pool_printf(pool, "%s from %s on %s", length, wp_human_time(pool, trace->start_ns), home)
        : wp_pool_printf(pool, "%s from %s", length, wp_human_time(pool, trace->start_ns));
    return true;
}

static void add_paths(struct wp_display *display, const struct wp_trace *trace)
{
    static const struct wp_column columns[] = {
        {"Control path", NULL, WP_COLUMN_NAME},
        {"Thread", NULL, WP_COLUMN_ID},
        {"Kind", NULL, WP_COLUMN_TEXT},
        {"Pieces", NULL, WP_COLUMN_COUNT},
        {"Time", "Sum of its pieces", WP_COLUMN_DURATION},
    };
    size_t room = trace->path_count < TABLE_ROWS ? trace->path_count : TABLE_ROWS;
    struct wp_table *table = wp_display_table(display, "paths", columns, 5, room);
    for (uint32_t i = 0; i < trace->path_count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        uint32_t thread = trace->paths[i].thread;
        row[0].text = thread < trace->thread_count
            ? wp_pool_clip(&display->pool, trace_text(trace, trace->threads[thread].comm), 80) : "";
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

void wp_page_chrono(struct wp_display *display, const struct wp_facts *facts)
{
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "The beginning of the newest recording as it happened: time runs to the right, stacks grow upwards, one control path under the other, lines "
        "are wakings between paths.");
    if (has_window(display, facts))
        wp_page_window(display, facts, facts->trace, true);
    wp_page_other_windows(display, facts);
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
        {"Process", NULL, WP_COLUMN_NAME}, {"PID", NULL, WP_COLUMN_ID}, {"Thread", NULL, WP_COLUMN_ID},
        {"Host", NULL, WP_COLUMN_NAME}, {"Runs", NULL, WP_COLUMN_COUNT}, {"Running", NULL, WP_COLUMN_DURATION},
        {"Asleep", NULL, WP_COLUMN_DURATION},
    };
    size_t room = trace->thread_count < TABLE_ROWS ? trace->thread_count : TABLE_ROWS;
    struct wp_table *table = wp_display_table(display, "threads", columns, 7, room);
    table->searchable = room > 10;
    for (uint32_t i = 0; i < trace->thread_count; i++) {
        const struct wp_trace_thread *thread = &trace->threads[i];
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = wp_pool_clip(&display->pool, trace_text(trace, thread->comm), 80);
        row[0].note = thread->is_base ? "process of interest" : NULL;
        if (*row[0].text)
            row[0].link = wp_page_flame_link(display, facts, "process", wp_pool_printf(&display->pool, "[%s]", row[0].text));
        else
            row[0].text = "?"; /* as in the flame */
        row[1].number = thread->pid;
        row[2].number = thread->tid;
        row[3].text = wp_pool_clip(&display->pool, trace_text(trace, thread->host), 80);
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

void wp_page_window(struct wp_display *display, const struct wp_facts *facts, const struct wp_trace *trace, bool is_stacks)
{
    if (trace->omitted && trace == facts->trace)
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(&display->pool, "%s pieces of this window did not fit and are not drawn.",
                wp_human_count(&display->pool, trace->omitted)));
    else if (trace->omitted)
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(&display->pool, "%s pieces of this window did not fit and are not drawn: those that are make up %s of it.",
                wp_human_count(&display->pool, trace->omitted), wp_human_share(&display->pool, drawn_of(trace), trace->length_ns)));
    add_view(display, is_stacks ? "chronology" : "running");
    wp_display_add(display, WP_ITEM_DETAILS, is_stacks ? "The control paths as a table" : "The threads as a table");
    if (is_stacks)
        add_paths(display, trace);
    else
        add_threads(display, facts, trace);
    wp_display_add(display, WP_ITEM_END, NULL);
}

void wp_page_running(struct wp_display *display, const struct wp_facts *facts)
{
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "Who ran when at the beginning of the newest recording: every bar is a stretch on a CPU, every line is one thread setting another going. Click a process to "
        "open its flame.");
    if (has_window(display, facts))
        wp_page_window(display, facts, facts->trace, false);
    wp_page_other_windows(display, facts);
}
