/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_views.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/page_context.h"
#include "reporter/facts/stack_text.h"
#include "reporter/page/page_behind.h"
#include "reporter/page/page_exemplars.h"
#include "reporter/page/page_links.h"
#include "reporter/page/page_window.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_ROWS 200u

static int compare_cells(const void *left, const void *right)
{
    const struct wp_cell *const *a = left, *const *b = right;
    if ((*a)->ns != (*b)->ns)
        return (*a)->ns > (*b)->ns ? -1 : 1;
    return *a < *b ? -1 : *a > *b; /* the flame's own order breaks ties */
}

/* Where "path:[name]" leads: to the control path that stands on the ground by itself, else to all of that process; none
 * for other frames. */
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
        {"Pseudo-stack", NULL, WP_CELL_STACK},
        {"Category", NULL, WP_CELL_TEXT},
        {"Time", NULL, WP_CELL_DURATION},
        {"Share", "Of the total", WP_CELL_SHARE},
        {"Pieces", NULL, WP_CELL_COUNT},
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
        "All pseudo-stacks gathered: width is time, and what stands on a sleep is what that sleep waited for, in "
        "whichever process it happened. Kernel and start-up functions are left out until they are asked for.");
    wp_page_add_view(display, "flame");
    wp_display_add(display, WP_ITEM_DETAILS, "The same as a table");
    add_stacks(display, facts);
    wp_display_add(display, WP_ITEM_END, NULL);
}

/* The host that the window is of: its time is that one's. NULL: no thread of interest is in it. */
static const char *home_of(struct wp_display *display, const struct wp_trace *trace)
{
    for (uint32_t i = 0; i < trace->path_count; i++)
        if (trace->paths[i].is_base && trace->paths[i].thread < trace->thread_count)
            return wp_pool_clip(
                &display->pool, wp_intern_text(trace->strings, trace->threads[trace->paths[i].thread].host), 80);
    return NULL;
}

static bool has_window(struct wp_display *display, const struct wp_facts *facts)
{
    const struct wp_trace *trace = facts->trace;
    struct wp_pool *pool = &display->pool;
    if (!trace) {
        wp_display_add(display, WP_ITEM_NOTICE,
            "No window of this aggregate was kept event by event, so there is nothing to lay out over time. The Flame "
            "page "
            "shows everything gathered.");
        return false;
    }
    const char *length = wp_human_duration(pool, trace->length_ns), *home = home_of(display, trace);
    display->subtitle = !trace->start_ns ? length
        : home ? wp_pool_printf(pool, "%s from %s on %s", length, wp_human_time(pool, trace->start_ns), home)
               : wp_pool_printf(pool, "%s from %s", length, wp_human_time(pool, trace->start_ns));
    return true;
}

void wp_page_chrono(struct wp_display *display, const struct wp_facts *facts)
{
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "The beginning of the newest recording as it happened: time runs to the right, stacks grow upwards, one "
        "control path under the other, the one with most time first. Lines are wakings between paths.");
    if (has_window(display, facts))
        wp_page_window(display, facts, facts->trace, true);
    wp_page_other_windows(display, facts);
}

void wp_page_running(struct wp_display *display, const struct wp_facts *facts)
{
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_page_context(display)->has_system && facts->trace
            ? "What all threads of the host did; a bar stands before those that a control path held. Below them are "
              "block requests, messages and interrupts. Drag on the axis to sum up an interval; a click on a line goes "
              "to its other end."
            : "What each thread did at the beginning of the newest recording; lines are wakings. Drag on the axis to "
              "sum up an interval, click a name to open its flame.");
    if (has_window(display, facts))
        wp_page_window(display, facts, facts->trace, false);
    wp_page_other_windows(display, facts);
}
