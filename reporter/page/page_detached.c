/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_detached.h"

#include "reporter/display/humanize.h"
#include "reporter/waits/detached_work.h"

#define TABLE_ROWS 1000u
#define STACK_ROWS 100u
#define NAME_BYTES 120u

static size_t at_most(size_t count, size_t limit)
{
    return count < limit ? count : limit;
}

static void add_rows(struct wp_display *display, const struct wp_facts *work, const struct wp_detached_work *detached)
{
    static const struct wp_column columns[] = {
        {"Started by", "A process of interest", WP_CELL_NAME},
        {"Through", "Whom it started, of whom the last one started the worker", WP_CELL_NAME},
        {"How", "By waking it, by making a thread or process, or by a message", WP_CELL_NAME},
        {"Worked", NULL, WP_CELL_NAME},
        {"Time", "On to its next wait for somebody", WP_CELL_DURATION},
        {"Share", "Of the detached work", WP_CELL_SHARE},
        {"On a CPU", NULL, WP_CELL_DURATION},
        {"Pieces", NULL, WP_CELL_COUNT},
        {"Mostly in", "The function with most of it", WP_CELL_NAME},
    };
    struct wp_table *table = wp_display_table(display, "started", columns, 9, at_most(detached->row_count, TABLE_ROWS));
    table->whole_ns = work->total_ns;
    table->searchable = detached->row_count > 10;
    for (size_t i = 0; i < detached->row_count; i++) {
        const struct wp_detached_row *row = &detached->rows[i];
        struct wp_field *fields = wp_display_row(table);
        if (!fields)
            continue;
        fields[0].text = row->starter;
        fields[1].text = wp_pool_clip(&display->pool, row->through, NAME_BYTES);
        fields[2].text = wp_pool_clip(&display->pool, row->how, NAME_BYTES);
        fields[3].text = row->worker;
        fields[4].number = fields[5].number = row->ns;
        fields[6].number = row->running_ns;
        fields[7].number = row->count;
        fields[8].text = wp_pool_clip(&display->pool, row->mostly, NAME_BYTES);
    }
}

static void add_processes(struct wp_display *display, const struct wp_facts *work)
{
    static const struct wp_column columns[] = {{"Process", NULL, WP_CELL_NAME}, {"PID", NULL, WP_CELL_ID},
        {"Host", NULL, WP_CELL_NAME}, {"Time", NULL, WP_CELL_DURATION}, {"Share", NULL, WP_CELL_SHARE},
        {"On a CPU", NULL, WP_CELL_DURATION}};
    struct wp_table *table =
        wp_display_table(display, "detached-processes", columns, 6, at_most(work->process_count, TABLE_ROWS));
    table->whole_ns = work->total_ns;
    table->searchable = work->process_count > 10;
    for (size_t i = 0; i < work->process_count; i++) {
        const struct wp_process_fact *fact = &work->processes[i];
        struct wp_field *fields = wp_display_row(table);
        if (!fields)
            continue;
        fields[0].text = wp_pool_clip(&display->pool, fact->comm, NAME_BYTES);
        fields[1].number = fact->pid;
        fields[2].text = wp_pool_clip(&display->pool, fact->host, NAME_BYTES);
        fields[3].number = fields[4].number = fact->total_ns;
        fields[5].number = fact->running_ns;
    }
}

static void add_categories(struct wp_display *display, const struct wp_facts *work)
{
    static const struct wp_column columns[] = {
        {"Category", NULL, WP_CELL_NAME}, {"Time", NULL, WP_CELL_DURATION}, {"Share", NULL, WP_CELL_SHARE}};
    struct wp_table *table = wp_display_table(display, "detached-categories", columns, 3, WP_CATEGORIES);
    table->whole_ns = work->total_ns;
    for (unsigned i = 0; i < WP_CATEGORIES; i++) {
        struct wp_field *fields = work->categories[i] ? wp_display_row(table) : NULL;
        if (!fields)
            continue;
        fields[0].text = wp_category_title((enum wp_category)i);
        fields[1].number = fields[2].number = work->categories[i];
    }
}

static void add_stacks(struct wp_display *display, const struct wp_facts *work, const struct wp_detached_work *detached)
{
    static const struct wp_column columns[] = {{"Stack", "From who started it", WP_CELL_STACK},
        {"Category", NULL, WP_CELL_NAME}, {"Time", NULL, WP_CELL_DURATION}, {"Share", NULL, WP_CELL_SHARE},
        {"Pieces", NULL, WP_CELL_COUNT}};
    struct wp_table *table =
        wp_display_table(display, "detached-stacks", columns, 5, at_most(detached->stack_count, STACK_ROWS));
    table->whole_ns = work->total_ns;
    table->searchable = detached->stack_count > 10;
    for (size_t i = 0; i < detached->stack_count; i++) {
        struct wp_field *fields = wp_display_row(table);
        if (!fields)
            continue;
        fields[0].text = detached->stacks[i].text;
        fields[1].text = wp_category_title((enum wp_category)detached->stacks[i].category);
        fields[2].number = fields[3].number = detached->stacks[i].ns;
        fields[4].number = detached->stacks[i].count;
    }
}

void wp_page_detached(struct wp_display *display, const struct wp_facts *facts)
{
    const struct wp_facts *work = facts->detached;
    if (!work) {
        wp_display_add(display, WP_ITEM_PARAGRAPH, "Nothing is known of work that nobody waited for.");
        return;
    }
    struct wp_detached_work detached = wp_detached_work_build(&display->pool, facts);
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(&display->pool,
            "The processes of interest started %s of work that no control path waited for, themselves or through those "
            "that they had started. It is not in the total, and there may be more of it.",
            wp_human_duration(&display->pool, work->total_ns)));
    wp_display_heading(display, "Who started what");
    add_rows(display, work, &detached);
    wp_display_heading(display, "What it was");
    add_categories(display, work);
    wp_display_heading(display, "Who worked");
    add_processes(display, work);
    wp_display_heading(display, "Stacks");
    add_stacks(display, work, &detached);
}
