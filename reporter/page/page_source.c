/* SPDX-License-Identifier: Apache-2.0 */
/* The source files with time, and one of them line by line. */
#include "reporter/page/page_source.h"

#include "reporter/code/functions.h"
#include "reporter/display/humanize.h"
#include "reporter/display/listing.h"
#include "reporter/facts/page_context.h"
#include "reporter/page/page_links.h"
#include "reporter/page/page_tabs.h"
#include "reporter/source/source_listing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FILE_ROWS 500u
#define HOT_ROWS 10u
#define FUNCTION_ROWS 40u
#define NAME_BYTES 200u

struct linking {
    struct wp_display *display;
    const struct wp_facts *facts;
};

static struct wp_link function_link(void *context, const char *name)
{
    struct linking *linking = context;
    size_t function = wp_functions_find(linking->facts, name);
    if (function == SIZE_MAX)
        return (struct wp_link){0};
    return wp_page_function_link(linking->display, linking->facts, function);
}

static struct wp_source_map map_of(const struct wp_facts *facts, struct linking *linking)
{
    return (struct wp_source_map){
        &facts->source, facts->release, facts->aggregate, facts->total_ns, function_link, linking};
}

void wp_page_source_table(struct wp_display *display, const struct wp_facts *facts, size_t rows)
{
    static const struct wp_column columns[] = {
        {"Source file", NULL, WP_CELL_NAME},
        {"Own time", "Run in its lines, and waits and calls of theirs in code whose lines are not known",
            WP_CELL_DURATION},
        {"Share", "Own time, of the total", WP_CELL_SHARE},
        {"Self", "On a CPU in its lines' own code", WP_CELL_DURATION},
        {"Largest line", "Total", WP_CELL_DURATION},
        {"Line", "That line", WP_CELL_ID},
    };
    struct wp_source_map map = map_of(facts, NULL);
    const struct wp_source_lines *source = &facts->source;
    struct wp_table *table =
        wp_display_table(display, "sources", columns, 6, source->file_count < rows ? source->file_count : rows);
    table->whole_ns = facts->total_ns;
    table->searchable = table->row_room > 10;
    table->empty = "No line of source is known: nothing that was seen has debug info (build it with -g, or install its "
                   "-dbgsym package).";
    for (uint32_t i = 0; i < source->file_count; i++) {
        const struct wp_source_file *file = &source->files[i];
        const char *base = wp_source_base(file->path);
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].text = wp_pool_clip(&display->pool, base, NAME_BYTES);
        row[0].note = base > file->path
            ? wp_pool_clip(&display->pool, wp_pool_printf(&display->pool, "%.*s", (int)(base - file->path), file->path),
                  NAME_BYTES)
            : NULL;
        row[0].link = wp_source_line_link(&map, &display->pool, i, 0);
        row[1].number = row[2].number = file->own_ns;
        row[3].number = file->self_ns;
        row[4].number = file->largest_ns;
        row[4].link = wp_source_line_link(&map, &display->pool, i, file->largest_line);
        row[5].number = file->largest_line;
    }
}

void wp_page_sources(struct wp_display *display, const struct wp_facts *facts)
{
    wp_display_add(display, WP_ITEM_PARAGRAPH,
        "Time by line of source, as the debug info of the programs has it. Inlined functions count where they were "
        "written. A line's total time "
        "counts a stack once; own time adds up.");
    if (wp_page_context(display)->origins.count > 1)
        wp_display_add(display, WP_ITEM_NOTICE,
            "Several aggregators (shards) recorded this. The time of a wait for a host of another shard "
            "stands at the line that waited: which lines ran over there is not known here.");
    wp_page_source_table(display, facts, FILE_ROWS);
}

/* --- one file --- */

static int compare_heat(const void *left, const void *right)
{
    const struct wp_source_site *a = *(const struct wp_source_site *const *)left,
                                *b = *(const struct wp_source_site *const *)right;
    if (a->leaf_ns != b->leaf_ns)
        return a->leaf_ns > b->leaf_ns ? -1 : 1;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return a < b ? -1 : a > b;
}

static void add_hottest(struct wp_display *display, const struct wp_facts *facts, const struct wp_source_map *map,
    uint32_t place, const struct wp_source_physical *physical)
{
    static const struct wp_column columns[] = {
        {"Line", NULL, WP_CELL_ID},
        {"Function", NULL, WP_CELL_NAME},
        {"Self", "On a CPU in the line's own code", WP_CELL_DURATION},
        {"Run", "On a CPU, in the line or in what it called", WP_CELL_DURATION},
        {"Wait", "Waiting, in what the line called", WP_CELL_DURATION},
        {"Total", NULL, WP_CELL_DURATION},
        {"Share", "Of the time of all control paths", WP_CELL_SHARE},
    };
    const struct wp_source_file *file = &facts->source.files[place];
    const struct wp_source_site **sites =
        wp_pool_alloc(&display->pool, (file->site_count + (size_t)1) * sizeof(*sites));
    for (uint32_t i = 0; sites && i < file->site_count; i++)
        sites[i] = &facts->source.sites[file->first_site + i];
    if (sites && file->site_count)
        qsort(sites, file->site_count, sizeof(*sites), compare_heat);
    wp_display_heading(display, "Hottest lines");
    struct wp_table *table =
        wp_display_table(display, "hottest", columns, 7, file->site_count < HOT_ROWS ? file->site_count : HOT_ROWS);
    table->whole_ns = facts->total_ns;
    for (uint32_t i = 0; sites && i < file->site_count; i++) {
        struct wp_field *row = wp_display_row(table);
        if (!row)
            continue;
        row[0].number = sites[i]->line;
        row[1].text = wp_pool_clip(&display->pool, sites[i]->function, NAME_BYTES);
        row[1].link = wp_source_line_link(map, &display->pool, place, sites[i]->line);
        for (uint32_t p = 0; physical && p < physical->count; p++)
            if (physical->logical[p].file == place && physical->logical[p].line == sites[i]->line) {
                const char *text = physical->lines[p] + strspn(physical->lines[p], " \t");
                row[1].note = wp_pool_clip(&display->pool, text, 80);
                break;
            }
        row[2].number = sites[i]->self_ns;
        row[3].number = sites[i]->run_ns;
        row[4].number = sites[i]->total_ns - sites[i]->run_ns;
        row[5].number = row[6].number = sites[i]->total_ns;
    }
}

static void add_functions(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_source_map *map, uint32_t place)
{
    static const struct wp_column columns[] = {
        {"Function", "Its callers and callees", WP_CELL_NAME},
        {"From line", "The first one with time", WP_CELL_ID},
        {"Total", NULL, WP_CELL_DURATION},
        {"Share", "Of the time of all control paths", WP_CELL_SHARE},
    };
    const struct wp_source_file *file = &facts->source.files[place];
    wp_display_heading(display, "Functions");
    struct wp_table *table = wp_display_table(
        display, "file-functions", columns, 4, file->site_count < FUNCTION_ROWS ? file->site_count : FUNCTION_ROWS);
    table->whole_ns = facts->total_ns;
    for (uint32_t i = 0; i < file->site_count; i++) {
        const struct wp_source_site *site = &facts->source.sites[file->first_site + i];
        struct wp_field *row = site->is_first ? wp_display_row(table) : NULL;
        if (!row)
            continue;
        size_t function = wp_functions_find(facts, site->function);
        row[0].text = wp_pool_clip(&display->pool, site->function, NAME_BYTES);
        row[0].link = map->function_link(map->context, site->function);
        row[1].number = site->line;
        row[2].number = row[3].number = function == SIZE_MAX ? 0 : facts->functions[function].inclusive_ns;
    }
}

static void say_text(struct wp_display *display, const struct wp_source_text *text)
{
    struct wp_pool *pool = &display->pool;
    if (!text->text.size)
        wp_display_add(display, WP_ITEM_NOTICE,
            *text->why_not
                ? wp_pool_printf(
                      pool, "Source not available (%s). The times of its lines are here without it.", text->why_not)
                : "Source not available. The times of its lines are here without it.");
    if (text->doubt)
        wp_display_add(display, WP_ITEM_NOTICE, text->doubt);
}

/* Generated text may hold the lines of a file that is not there: a grammar's in what was made from it. */
static void say_carriers(struct wp_display *display, const struct wp_facts *facts, const struct wp_source_map *map,
    uint32_t place, const struct wp_source_physical *all)
{
    for (uint32_t i = 0; i < facts->source.file_count && i < WP_SOURCE_PAGES; i++)
        for (uint32_t line = 0; i != place && line < all[i].count; line++) {
            if (all[i].logical[line].file != place)
                continue;
            struct wp_item *item = wp_display_add(display, WP_ITEM_PARAGRAPH,
                wp_pool_printf(&display->pool, "Its lines stand in %s, from line %u on.",
                    wp_source_base(facts->source.files[i].path), line + 1));
            if (item && wp_source_has_page(map, i))
                item->link = wp_link_to_part(WP_PAGE_SOURCE, facts->release, facts->aggregate, i + 1,
                    wp_pool_printf(&display->pool, "P%u", line + 1));
            break;
        }
}

int wp_page_source(struct wp_display *display, const struct wp_facts *facts, const struct wp_source_text *text,
    const struct wp_source_physical *all, unsigned part, struct wp_error *err)
{
    struct linking linking = {display, facts};
    struct wp_source_map map = map_of(facts, &linking);
    uint32_t place = part - 1;
    struct wp_pool *pool = &display->pool;
    if (!part || !wp_source_has_page(&map, place))
        return wp_error_set(err, -EINVAL, "there is no page of source %u", part);
    const struct wp_source_file *file = &facts->source.files[place];
    display->part = part;
    display->title = wp_pool_clip(pool, wp_source_base(file->path), NAME_BYTES);
    display->subtitle = wp_pool_clip(pool, file->path, 1000);
    wp_page_tabs(display, facts);
    say_text(display, text);
    if (!text->text.size)
        say_carriers(display, facts, &map, place, all);
    wp_display_fact(display, "Own time", wp_human_duration(pool, file->own_ns),
        wp_pool_printf(pool, "%s of the total", wp_human_share(pool, file->own_ns, facts->total_ns)));
    wp_display_fact(display, "Self", wp_human_duration(pool, file->self_ns), "on a CPU in these lines");
    wp_display_fact(display, "Largest line", wp_pool_printf(pool, "%u", file->largest_line),
        wp_pool_printf(pool, "%s total", wp_human_duration(pool, file->largest_ns)));
    wp_display_fact(display, "Text",
        text->text.size ? wp_pool_printf(pool, "%.*s", (int)strcspn(text->from, ":"), text->from) : "not available",
        text->text.size ? text->from + strcspn(text->from, " ") : "");
    add_hottest(display, facts, &map, place, &all[place]);
    wp_display_heading(display, "Source");
    struct wp_listing *listing = wp_pool_alloc(pool, sizeof(*listing));
    struct wp_item *item = listing ? wp_display_add(display, WP_ITEM_LISTING, display->title) : NULL;
    if (item) {
        wp_source_listing_build(listing, pool, &map, place, &all[place]);
        item->listing = listing;
    }
    add_functions(display, facts, &map, place);
    return pool->failed ? wp_error_set(err, -ENOMEM, "out of memory for source of %s", facts->aggregate) : 0;
}

unsigned wp_page_source_parts(const struct wp_facts *facts)
{
    struct wp_source_map map = map_of(facts, NULL);
    uint32_t count = 0;
    for (uint32_t i = 0; i < facts->source.file_count && i < WP_SOURCE_PAGES; i++)
        count = wp_source_has_page(&map, i) ? i + 1 : count;
    return count;
}

bool wp_page_source_has(const struct wp_facts *facts, unsigned part)
{
    struct wp_source_map map = map_of(facts, NULL);
    return part && wp_source_has_page(&map, part - 1);
}
