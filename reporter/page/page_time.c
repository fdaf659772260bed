/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/page/page_time.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/over_time.h"
#include "reporter/recording/process_tree.h"
#include "storage/kind/genealogy_store.h"

static unsigned largest(const struct wp_time_bucket *bucket)
{
    unsigned most = 0;
    for (unsigned i = 1; i < WP_CATEGORIES; i++)
        if (bucket->categories[i] > bucket->categories[most])
            most = i;
    return most;
}

static void add_table(struct wp_display *display, const struct wp_over_time *timeline, uint64_t whole_ns)
{
    static const struct wp_column columns[] = {
        {"From", NULL, WP_CELL_TEXT},
        {"Total", "Of all control paths in that interval", WP_CELL_DURATION},
        {"Share", "Of the total", WP_CELL_SHARE},
        {"Mostly", "The largest category", WP_CELL_TEXT},
        {"Of it", "Time in that category", WP_CELL_DURATION},
        {"Unaccounted", "Time without an explanation", WP_CELL_DURATION},
    };
    struct wp_table *table = wp_display_table(display, "timeline", columns, 6, timeline->count);
    table->whole_ns = whole_ns;
    for (uint32_t i = 0; i < timeline->count; i++) {
        const struct wp_time_bucket *bucket = &timeline->buckets[i];
        struct wp_field *row = wp_display_row(table);
        if (!row)
            return;
        unsigned most = largest(bucket);
        row[0].text = wp_human_time(&display->pool, bucket->start_ns);
        row[1].number = row[2].number = bucket->total_ns;
        row[3].text = wp_category_title((enum wp_category)most);
        row[3].swatch = (int)most + 1;
        row[4].number = bucket->categories[most];
        row[5].number = bucket->categories[WP_UNACCOUNTED];
    }
}

/* Which interval stands out: one that holds half as much again as the median. */
static void add_peak(struct wp_display *display, const struct wp_over_time *timeline)
{
    const struct wp_time_bucket *peak = &timeline->buckets[0];
    uint32_t below = 0;
    for (uint32_t i = 1; i < timeline->count; i++)
        if (timeline->buckets[i].total_ns > peak->total_ns)
            peak = &timeline->buckets[i];
    for (uint32_t i = 0; i < timeline->count; i++)
        below += timeline->buckets[i].total_ns * 3 < peak->total_ns * 2;
    if (below * 2 < timeline->count)
        return;
    struct wp_pool *pool = &display->pool;
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        wp_pool_printf(pool, "The most stands at %s: %s in %s, mostly: %s.", wp_human_time(pool, peak->start_ns),
            wp_human_duration(pool, peak->total_ns), wp_human_duration(pool, timeline->width_ns),
            wp_category_title((enum wp_category)largest(peak))));
}

/* Processes that were killed for want of memory, into `killed`; returns how many. */
static uint32_t find_killed(const struct wp_process_tree *tree, const struct wp_tree_process **killed)
{
    uint32_t count = 0;
    for (size_t i = 0; tree && i < tree->count; i++)
        if (tree->rows[i].ending == WP_ENDING_OOM && tree->rows[i].end_ns)
            killed[count++] = &tree->rows[i];
    return count;
}

static void add_killed(struct wp_display *display, const struct wp_tree_process *const *killed, uint32_t count)
{
    static const struct wp_column columns[] = {{"Killed for want of memory", NULL, WP_CELL_NAME},
        {"Memory of", "Which control group had none left", WP_CELL_NAME}, {"When", NULL, WP_CELL_TEXT},
        {"PID", NULL, WP_CELL_COUNT}, {"Host", NULL, WP_CELL_TEXT}};
    struct wp_table *table = wp_display_table(display, "killed", columns, 5, count);
    for (uint32_t i = 0; i < count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            return;
        row[0].text = wp_pool_text(&display->pool, killed[i]->comm);
        row[1].text =
            *killed[i]->memory ? killed[i]->memory : "not known, because the kernel or an older version did not tell";
        row[2].text = wp_human_time(&display->pool, killed[i]->end_ns);
        row[3].number = killed[i]->pid;
        row[4].text = wp_pool_text(&display->pool, killed[i]->host);
    }
}

/* As lines across the drawing, and as a table behind it. */
static uint32_t mark_killed(struct wp_display *display, const struct wp_facts *facts, struct wp_over_time *timeline,
    const struct wp_tree_process ***killed)
{
    size_t room = facts->tree ? facts->tree->count + 1 : 1;
    *killed = wp_pool_alloc(&display->pool, room * sizeof(**killed));
    timeline->marks = wp_pool_alloc(&display->pool, room * sizeof(*timeline->marks));
    uint32_t count = *killed && timeline->marks ? find_killed(facts->tree, *killed) : 0;
    for (uint32_t i = 0; i < count; i++)
        timeline->marks[i] = (struct wp_time_mark){(*killed)[i]->end_ns,
            wp_pool_printf(&display->pool, "%s: %s (%u) is killed for want of memory%s%s",
                wp_human_time(&display->pool, (*killed)[i]->end_ns), (*killed)[i]->comm, (*killed)[i]->pid,
                *(*killed)[i]->memory ? " of " : "", (*killed)[i]->memory)};
    timeline->mark_count = count;
    return count;
}

void wp_page_over_time(struct wp_display *display, const struct wp_facts *facts)
{
    const struct wp_tree_process **killed;
    struct wp_over_time *timeline = wp_pool_alloc(&display->pool, sizeof(*timeline));
    if (!timeline)
        return;
    wp_over_time_build(timeline, &display->pool, facts);
    uint32_t count = mark_killed(display, facts, timeline, &killed);
    bool is_laid_out = timeline->count >= 2 && timeline->most_ns; /* else all at once */
    if (is_laid_out || count)
        wp_display_heading(display, "Over time");
    if (count)
        add_killed(display, killed, count);
    if (!is_laid_out)
        return;
    add_peak(display, timeline);
    struct wp_item *item = wp_display_add(display, WP_ITEM_OVER_TIME, NULL);
    if (item) {
        item->timeline = timeline;
        item->link = wp_link_to(WP_PAGE_FLAME, facts->release, facts->aggregate, NULL);
    }
    if (timeline->timeless_ns)
        wp_display_add(display, WP_ITEM_PARAGRAPH,
            wp_pool_printf(&display->pool,
                "Of %s it is not known when they were: an older "
                "version recorded them.",
                wp_human_duration(&display->pool, timeline->timeless_ns)));
    wp_display_add(display, WP_ITEM_DETAILS,
        wp_pool_printf(&display->pool, "The same as a table, in steps of %s",
            wp_human_duration(&display->pool, timeline->width_ns)));
    add_table(display, timeline, facts->total_ns);
    wp_display_add(display, WP_ITEM_END, NULL);
}
