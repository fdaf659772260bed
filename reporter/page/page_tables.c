/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_tables.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/page_context.h"
#include "reporter/page/page_behind.h"
#include "reporter/page/page_links.h"
#include "reporter/page/page_tree.h"
#include "reporter/recording/process_tree.h"
#include "storage/kind/report_store.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 200u

void wp_page_categories(
    struct wp_display *display, const uint64_t categories[WP_CATEGORIES], const struct wp_page_id *flame)
{
    static const struct wp_column columns[] = {
        {"Category", "From the best to the least understood", WP_CELL_TEXT},
        {"Time", NULL, WP_CELL_DURATION},
        {"Share", "Of the total time of all control paths", WP_CELL_SHARE},
    };
    struct wp_table *table = wp_display_table(display, "categories", columns, 3, WP_CATEGORIES);
    for (unsigned i = 0; i < WP_CATEGORIES; i++)
        table->whole_ns += categories[i];
    for (unsigned i = 0; i < WP_CATEGORIES; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            break;
        row[0].text = wp_category_title((enum wp_category)i);
        row[0].swatch = (int)i + 1;
        row[0].is_term = true;
        row[1].number = row[2].number = categories[i];
        if (flame && categories[i])
            row[0].link = wp_link_to(flame->page, flame->release, flame->aggregate,
                wp_pool_printf(&display->pool, "category=%s", wp_category_key((enum wp_category)i)));
        if (flame && categories[i])
            row[1].link = wp_link_to(WP_PAGE_BEHIND, flame->release, flame->aggregate, row[0].link.fragment);
    }
}

static void put_parent(struct wp_display *display, const struct wp_facts *facts, struct wp_field *field, size_t process)
{
    const struct wp_tree_process *parent = wp_process_tree_parent(facts, process);
    field->text = parent ? parent->comm : "";
    if (!parent)
        return;
    field->note = wp_pool_printf(&display->pool, "%u", (unsigned)parent->pid);
    field->link = wp_page_tree_link(display, facts, (size_t)(parent - facts->tree->rows));
}

void wp_page_process_table(struct wp_display *display, const struct wp_facts *facts, size_t rows)
{
    static const struct wp_column columns[] = {
        {"Process", NULL, WP_CELL_NAME},
        {"PID", NULL, WP_CELL_ID},
        {"Host", NULL, WP_CELL_NAME},
        {"Time on paths", "Time in which it stood in a pseudo-stack", WP_CELL_DURATION},
        {"Share", "Of the total; layers overlap, so shares do not add up to 100 %", WP_CELL_SHARE},
        {"Running", "Of that, itself on a CPU", WP_CELL_DURATION},
        {"Parent", "Who forked it", WP_CELL_NAME},
    };
    size_t room = facts->process_count < rows ? facts->process_count : rows;
    struct wp_table *table = wp_display_table(display, "processes", columns, facts->tree ? 7 : 6, room);
    table->whole_ns = facts->total_ns;
    table->searchable = room > 10;
    table->empty = "No process was seen.";
    for (size_t i = 0; i < facts->process_count; i++) {
        const struct wp_process_fact *fact = &facts->processes[i];
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = wp_pool_clip(&display->pool, fact->comm, NAME_BYTES);
        row[1].number = fact->pid;
        row[2].text = wp_pool_clip(&display->pool, fact->host, NAME_BYTES);
        row[3].number = row[4].number = fact->total_ns;
        row[5].number = fact->running_ns;
        if (facts->tree)
            put_parent(display, facts, &row[6], i);
        if (!fact->pid && !strcmp(fact->comm, WP_REPORT_OTHERS))
            continue; /* no frame has that name */
        const char *frame = wp_pool_printf(&display->pool, "[%s]", fact->comm);
        if (wp_page_context(display)->has_own_pages)
            row[1].link = wp_link_to(WP_PAGE_PROCESSES, facts->release, facts->aggregate,
                wp_pool_printf(&display->pool, "own=pid-%u", (unsigned)fact->pid));
        row[0].link = wp_page_flame_link(display, facts, "process", frame);
        row[3].link = wp_page_behind_link(display, facts, "process", frame);
    }
}

static uint64_t app_time(const struct wp_function_fact *fact)
{
    return fact->app_running_ns + fact->app_waiting_ns;
}

static uint64_t own_time(const struct wp_function_fact *fact)
{
    return fact->running_ns + fact->blocked_ns;
}

static int compare_own(const void *left, const void *right)
{
    const struct wp_function_fact *const *a = left, *const *b = right;
    if (app_time(*a) != app_time(*b))
        return app_time(*a) > app_time(*b) ? -1 : 1;
    if (own_time(*a) != own_time(*b))
        return own_time(*a) > own_time(*b) ? -1 : 1;
    return *a < *b ? -1 : *a > *b; /* the order by total time breaks ties */
}

/* A program's own functions first, by the time that is theirs; NULL when out of memory. To be freed. */
static const struct wp_function_fact **sort_functions(struct wp_display *display, const struct wp_facts *facts)
{
    const struct wp_function_fact **sorted = calloc(facts->function_count + 1, sizeof(*sorted));
    display->pool.failed |= !sorted;
    for (size_t i = 0; sorted && i < facts->function_count; i++)
        sorted[i] = &facts->functions[i];
    if (sorted)
        qsort(sorted, facts->function_count, sizeof(*sorted), compare_own);
    return sorted;
}

static void put_function(
    struct wp_display *display, const struct wp_facts *facts, struct wp_field *row, const struct wp_function_fact *fact)
{
    row[0].text = wp_pool_clip(&display->pool, fact->name, NAME_BYTES);
    row[0].note = fact->object[0]        ? wp_pool_clip(&display->pool, fact->object, NAME_BYTES)
        : fact->style == WP_STYLE_KERNEL ? "kernel"
                                         : NULL;
    row[0].link = wp_page_function_link(display, facts, (size_t)(fact - facts->functions));
    row[1].number = fact->inclusive_ns;
    row[1].link = wp_page_behind_function(display, facts, fact);
    row[3].number = fact->running_ns;
    row[4].number = fact->waiting_ns;
    row[5].number = fact->count;
}

void wp_page_function_table(struct wp_display *display, const struct wp_facts *facts, size_t rows)
{
    static const struct wp_column columns[] = {
        {"Function", NULL, WP_CELL_NAME},
        {"Total", "On any stack, with all that it waited for", WP_CELL_DURATION},
        {"Share", "Of the time of all control paths", WP_CELL_SHARE},
        {"Running", "Innermost function of a run", WP_CELL_DURATION},
        {"Waiting", "Innermost function of a wait", WP_CELL_DURATION},
        {"Count", "Runs and waits in which it was the innermost function", WP_CELL_COUNT},
        {"Own", "Running and waiting in it, in libraries of its language and in the kernel; rows are sorted by it",
            WP_CELL_DURATION},
    };
    size_t room = facts->function_count < rows ? facts->function_count : rows;
    struct wp_table *table = wp_display_table(display, "functions", columns, 7, room);
    const struct wp_function_fact **sorted = sort_functions(display, facts);
    table->whole_ns = facts->total_ns;
    table->searchable = room > 10;
    table->empty = "No stack with a function was recorded.";
    for (size_t i = 0; sorted && i < facts->function_count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        put_function(display, facts, row, sorted[i]);
        row[2].number = sorted[i]->inclusive_ns;
        row[6].number = app_time(sorted[i]);
    }
    free(sorted);
}

void wp_page_busiest_table(struct wp_display *display, const struct wp_facts *facts, size_t rows)
{
    static const struct wp_column columns[] = {
        {"Busiest function", NULL, WP_CELL_NAME},
        {"Total", "On any stack, with all that it waited for", WP_CELL_DURATION},
        {"Own share", "Running and waiting in it, in libraries of its language and in the kernel, of the total",
            WP_CELL_SHARE},
        {"Running", "Of that, on a CPU", WP_CELL_DURATION},
        {"Waiting", "Of that, off it", WP_CELL_DURATION},
        {"Count", "Such runs and waits", WP_CELL_COUNT},
    };
    size_t room = facts->function_count < rows ? facts->function_count : rows;
    struct wp_table *table = wp_display_table(display, "functions", columns, 6, room);
    const struct wp_function_fact **sorted = sort_functions(display, facts);
    table->whole_ns = facts->total_ns;
    table->empty = "No stack with a function was recorded.";
    for (size_t i = 0; sorted && i < room; i++) {
        bool is_app = app_time(sorted[i]) > 0;
        struct wp_field *row = is_app || own_time(sorted[i]) ? wp_display_row(table) : NULL;
        if (!row)
            continue;
        put_function(display, facts, row, sorted[i]);
        row[2].number = is_app ? app_time(sorted[i]) : own_time(sorted[i]);
        row[3].number = is_app ? sorted[i]->app_running_ns : sorted[i]->running_ns;
        row[4].number = is_app ? sorted[i]->app_waiting_ns : sorted[i]->blocked_ns;
        row[5].number = is_app ? sorted[i]->app_count : sorted[i]->own_count;
    }
    free(sorted);
}

void wp_page_unexplained_table(struct wp_display *display, const struct wp_facts *facts, size_t rows)
{
    static const struct wp_column columns[] = {
        {"Wait", "The pseudo-stack, from the process of interest to the wait", WP_CELL_STACK},
        {"Why it stays open", NULL, WP_CELL_TEXT},
        {"Time", NULL, WP_CELL_DURATION},
        {"Share", "Of the total", WP_CELL_SHARE},
        {"Waits", NULL, WP_CELL_COUNT},
        {"Longest", NULL, WP_CELL_DURATION},
        {"Thread", "Number (tid) of the thread that waited longest", WP_CELL_TEXT},
    };
    size_t room = facts->unexplained_count < rows ? facts->unexplained_count : rows;
    struct wp_table *table = wp_display_table(display, "unexplained", columns, 7, room);
    table->whole_ns = facts->total_ns;
    table->searchable = room > 10;
    table->empty = "Every wait has an explanation.";
    for (size_t i = 0; i < facts->unexplained_count; i++) {
        const struct wp_unexplained_fact *fact = &facts->unexplained[i];
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = fact->stack;
        if (fact->permalink)
            row[0].link = wp_link_to(WP_PAGE_FLAME, facts->release, facts->aggregate,
                wp_pool_printf(&display->pool, "node=%08" PRIx32, fact->permalink));
        row[1].text = wp_pool_clip(&display->pool, fact->reason, NAME_BYTES);
        row[2].number = row[3].number = fact->ns;
        row[2].link = wp_page_behind_node(display, facts, fact->permalink);
        row[4].number = fact->count;
        row[5].number = fact->longest_ns;
        row[6].text = fact->tid ? wp_pool_printf(&display->pool, "%" PRIu32, fact->tid) : "";
    }
}

void wp_page_damage(struct wp_display *display, const struct wp_facts *facts)
{
    for (size_t i = 0; i < facts->damage_count && i < 20; i++)
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(&display->pool, "Damaged and left out: %s (%s).",
                wp_pool_clip(&display->pool, facts->damage[i].key, NAME_BYTES),
                wp_pool_clip(&display->pool, facts->damage[i].reason, NAME_BYTES)));
    if (facts->damage_count > 20)
        wp_display_add(display, WP_ITEM_NOTICE,
            wp_pool_printf(&display->pool, "Left out besides: %s.",
                wp_human_many(&display->pool, facts->damage_count - 20, "damaged value")));
}
