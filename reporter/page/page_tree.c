/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_tree.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/page_context.h"
#include "reporter/page/page_links.h"
#include "reporter/recording/process_tree.h"

#include <string.h>

#define COLUMNS 10      /* the host, last, where there are several */
#define INDENT_MOST 24u /* deeper ones stand below each other */

static const char *anchor_of(struct wp_display *display, size_t row)
{
    return wp_pool_printf(&display->pool, "process-%zu", row + 1);
}

struct wp_link wp_page_tree_link(struct wp_display *display, const struct wp_facts *facts, size_t row)
{
    return wp_link_to(WP_PAGE_TREE, facts->release, facts->aggregate, anchor_of(display, row));
}

/* Spaces that no format folds. */
static const char *name_of(struct wp_display *display, const struct wp_tree_process *process)
{
    const char *text = "";
    for (uint32_t i = 0; i < process->depth && i < INDENT_MOST; i++)
        text = wp_pool_printf(&display->pool, "%s\u00a0\u00a0", text);
    return wp_pool_printf(&display->pool, "%s%s", text, process->comm);
}

/* When it was forked, from the beginning of what was recorded. */
static void put_start(
    struct wp_display *display, const struct wp_facts *facts, struct wp_field *field, const struct wp_tree_process *at)
{
    bool is_before = at->start_ns < facts->first_ns;
    uint64_t ns = is_before ? facts->first_ns - at->start_ns : at->start_ns - facts->first_ns;
    if (!at->start_ns || !facts->first_ns) {
        field->text = "";
        return;
    }
    field->value = is_before ? -(double)ns : (double)ns;
    field->text =
        wp_pool_printf(&display->pool, is_before ? "%s before" : "at %s", wp_human_duration(&display->pool, ns));
}

static void put_end(
    struct wp_display *display, const struct wp_facts *facts, struct wp_field row[], const struct wp_tree_process *at)
{
    uint64_t end_ns = at->end_ns ? at->end_ns : facts->last_ns;
    const char *ending = wp_process_tree_ending(&display->pool, at->ending);
    row[0].is_none = !at->start_ns || end_ns < at->start_ns;
    row[0].number = row[0].is_none ? 0 : end_ns - at->start_ns;
    row[1].text = *ending ? ending : at->end_ns ? "ended" : "";
}

static void put_row(
    struct wp_display *display, const struct wp_facts *facts, struct wp_field row[COLUMNS], size_t place)
{
    const struct wp_tree_process *at = &facts->tree->rows[place];
    const struct wp_tree_process *parent = at->parent ? &facts->tree->rows[at->parent - 1] : NULL;
    const char *frame = wp_pool_printf(&display->pool, "[%s]", at->comm);
    row[0].text = name_of(display, at);
    row[0].anchor = anchor_of(display, place);
    row[0].note = strcmp(at->programs, at->comm) ? at->programs : *at->exe ? at->exe : NULL;
    if (at->is_on_paths)
        row[0].link = wp_page_flame_link(display, facts, "process", frame);
    row[1].number = at->pid;
    if (wp_page_context(display)->has_own_pages)
        row[1].link = wp_link_to(WP_PAGE_PROCESSES, facts->release, facts->aggregate,
            wp_pool_printf(&display->pool, "own=pid-%u", (unsigned)at->pid));
    if (parent) {
        row[2].text = parent->comm;
        row[2].note = wp_pool_printf(&display->pool, "%u", (unsigned)parent->pid);
        row[2].link = wp_page_tree_link(display, facts, at->parent - 1);
    } else {
        row[2].text = "";
    }
    put_start(display, facts, &row[3], at);
    put_end(display, facts, &row[4], at);
    row[6].number = row[7].number = at->total_ns;
    row[8].number = at->running_ns;
    row[6].is_none = row[7].is_none = row[8].is_none = !at->is_on_paths; /* it may have run: nobody waited for it */
}

static bool is_of_one_host(const struct wp_process_tree *tree)
{
    for (size_t i = 1; i < tree->count; i++)
        if (strcmp(tree->rows[i].host, tree->rows[0].host) != 0)
            return false;
    return true;
}

static void add_gaps(struct wp_display *display, const struct wp_process_tree *tree)
{
    struct wp_pool *pool = &display->pool;
    if (tree->damaged)
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(pool, "Processes may be missing, or stand without their parents: %s left out.",
                wp_human_many(pool, tree->damaged, "damaged value")));
    if (tree->unheld)
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(pool, "Processes may be missing, or stand without their parents: %s more than are read.",
                wp_human_many(pool, tree->unheld, "program")));
}

void wp_page_tree(struct wp_display *display, const struct wp_facts *facts)
{
    static const struct wp_column columns[COLUMNS] = {
        {"Process", "Below who forked it; beside it the programs that it ran, one after the other, or its file",
            WP_CELL_NAME},
        {"PID", NULL, WP_CELL_ID},
        {"Parent", "Who forked it, with its PID", WP_CELL_NAME},
        {"Forked", "From the beginning of what was recorded", WP_CELL_VALUE},
        {"Lived", "From its fork to its end, or to the end of what was recorded", WP_CELL_DURATION},
        {"Ended", "Exit status or signal; empty: not seen", WP_CELL_TEXT},
        {"Time on paths", "Time in which it stood in a pseudo-stack; a dash: in none, and how long it ran is not known",
            WP_CELL_DURATION},
        {"Share", "Of the total; layers overlap, so shares do not add up to 100 %", WP_CELL_SHARE},
        {"Running", "Of that, itself on a CPU", WP_CELL_DURATION},
        {"Host", NULL, WP_CELL_NAME},
    };
    const struct wp_process_tree *tree = facts->tree;
    if (!tree) {
        wp_display_add(display, WP_ITEM_PARAGRAPH, "Nothing is known of who started whom.");
        return;
    }
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "Who forked and executed whom: the processes on control paths, their ancestors, and whom they started while it "
        "was recorded. A process that ran several programs is one row.");
    add_gaps(display, tree);
    size_t count = is_of_one_host(tree) ? COLUMNS - 1 : COLUMNS;
    struct wp_table *table = wp_display_table(display, "tree", columns, count, tree->count);
    table->whole_ns = facts->total_ns;
    table->searchable = tree->count > 10;
    for (size_t i = 0; i < tree->count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (row)
            put_row(display, facts, row, i);
        if (row && count == COLUMNS)
            row[COLUMNS - 1].text = tree->rows[i].host;
    }
    table->left_out += tree->left_out;
}
