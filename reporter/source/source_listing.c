/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/source/source_listing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX
#define WHOLE_LINES 2500u /* of a longer file only what is near lines with time is shown */
#define NEAR 25u
#define CALLS 6u /* callers of a function, and callees of a line */
#define NAME_BYTES 160u
#define LINES (1u << 20)  /* numbers above are made up by `#line` */
#define LEAST_SHARE 1000u /* a file with less than a thousandth of the total in its largest line has no page */

struct building {
    struct wp_listing *listing;
    struct wp_pool *pool;
    const struct wp_source_map *map;
    const struct wp_source_lines *lines;
    const struct wp_source_physical *physical;
    uint32_t file;
    uint64_t most_ns; /* of the hottest line */
    size_t room;
    struct wp_listing_row *scratch;
};

bool wp_source_has_page(const struct wp_source_map *map, uint32_t file)
{
    return file < map->lines->file_count && file < WP_SOURCE_PAGES &&
        map->lines->files[file].largest_ns >= map->whole_ns / LEAST_SHARE;
}

struct wp_link wp_source_line_link(const struct wp_source_map *map, struct wp_pool *pool, uint32_t file, uint32_t line)
{
    if (!wp_source_has_page(map, file))
        return (struct wp_link){0};
    return wp_link_to_part(
        WP_PAGE_SOURCE, map->release, map->aggregate, file + 1, line ? wp_pool_printf(pool, "L%u", line) : NULL);
}

static struct wp_listing_row *add(struct building *b, enum wp_listing_kind kind)
{
    struct wp_listing *listing = b->listing;
    if (listing->count == b->room) {
        size_t room = b->room ? b->room * 2 : 256;
        struct wp_listing_row *grown = wp_pool_alloc(b->pool, room * sizeof(*grown));
        if (!grown)
            return b->scratch;
        if (listing->count)
            memcpy(grown, listing->rows, listing->count * sizeof(*grown));
        listing->rows = grown;
        b->room = room;
    }
    struct wp_listing_row *row = &listing->rows[listing->count++];
    *row = (struct wp_listing_row){.kind = kind, .text = ""};
    return row;
}

static const char *place_of(struct building *b, const struct wp_source_site *site)
{
    return site->file == NOWHERE
        ? wp_pool_clip(b->pool, site->function, NAME_BYTES)
        : wp_pool_printf(b->pool, "%s  %s:%u", wp_pool_clip(b->pool, site->function, NAME_BYTES),
              wp_pool_clip(b->pool, wp_source_base(b->lines->files[site->file].path), NAME_BYTES), site->line);
}

/* Over the first line of a function: who called it, from where. */
static void add_callers(struct building *b, uint32_t at)
{
    uint32_t count;
    const uint32_t *callers = wp_source_callers(b->lines, at, &count);
    for (uint32_t i = 0; i < count && i < CALLS; i++) {
        const struct wp_source_call *call = &b->lines->calls[callers[i]];
        const struct wp_source_site *from = &b->lines->sites[call->site];
        struct wp_listing_row *row = add(b, WP_LISTING_CALLER);
        row->text = wp_pool_clip(b->pool, b->lines->sites[at].function, NAME_BYTES);
        row->link = b->map->function_link(b->map->context, b->lines->sites[at].function);
        row->where = wp_pool_printf(b->pool, "%s by %s", call->is_inlined ? "inlined" : "called", place_of(b, from));
        row->where_link = wp_source_line_link(b->map, b->pool, from->file, from->line);
        row->total_ns = call->total_ns;
    }
}

static const char *kind_of(const struct wp_source_call *call)
{
    if (call->is_inlined)
        return "inlined";
    return call->style == WP_STYLE_KERNEL ? "kernel" : call->style == WP_STYLE_SLEEP ? "waits" : NULL;
}

static void add_callees(struct building *b, uint32_t first_site, uint32_t site_count)
{
    for (uint32_t at = first_site; at < first_site + site_count; at++) {
        const struct wp_source_site *site = &b->lines->sites[at];
        for (uint32_t i = 0; i < site->call_count && i < CALLS; i++) {
            const struct wp_source_call *call = &b->lines->calls[site->first_call + i];
            struct wp_listing_row *row = add(b, WP_LISTING_CALLEE);
            row->text = wp_pool_clip(b->pool, call->name, NAME_BYTES);
            row->where = kind_of(call);
            row->total_ns = call->total_ns;
            row->run_ns = call->run_ns;
            if (call->callee != NOWHERE)
                row->link = wp_source_line_link(
                    b->map, b->pool, b->lines->sites[call->callee].file, b->lines->sites[call->callee].line);
            if (!row->link.set && (call->style == WP_STYLE_USER || call->style == WP_STYLE_KERNEL))
                row->link = b->map->function_link(b->map->context, call->name);
        }
    }
}

static uint8_t heat_of(const struct building *b, uint64_t leaf_ns)
{
    if (!leaf_ns || !b->most_ns)
        return 0;
    double heat = sqrt((double)leaf_ns / (double)b->most_ns) * WP_HEATS;
    return heat < 1 ? 1 : heat > WP_HEATS ? WP_HEATS : (uint8_t)lround(heat);
}

/* A line with what stands over and under it. */
static void add_line(struct building *b, uint32_t number, struct wp_source_logical logical, const char *text,
    bool continues, const char *anchor)
{
    struct wp_source_site sum;
    uint32_t first = 0, count = 0;
    bool has_time = wp_source_line_sum(b->lines, logical.file, logical.line, &sum, &first, &count);
    for (uint32_t i = 0; i < count; i++)
        if (b->lines->sites[first + i].is_first)
            add_callers(b, first + i);
    struct wp_listing_row *row = add(b, WP_LISTING_LINE);
    row->number = number;
    row->text = text;
    row->continues = continues;
    row->anchor = anchor;
    row->has_time = has_time;
    if (!number || logical.file != b->file || logical.line != number)
        row->logical = logical.file == NOWHERE ? NULL
            : logical.file == b->file
            ? wp_pool_printf(b->pool, "%u", logical.line)
            : wp_pool_printf(b->pool, "%s:%u",
                  wp_pool_clip(b->pool, wp_source_base(b->lines->files[logical.file].path), 40), logical.line);
    b->listing->has_logical |= row->logical != NULL;
    if (!has_time)
        return;
    row->self_ns = sum.self_ns;
    row->run_ns = sum.run_ns;
    row->wait_ns = sum.total_ns - sum.run_ns;
    row->total_ns = sum.total_ns;
    row->heat = heat_of(b, sum.leaf_ns);
    add_callees(b, first, count);
}

static bool has_time(const struct building *b, uint32_t physical)
{
    struct wp_source_site sum;
    uint32_t first, count;
    struct wp_source_logical logical = b->physical->logical[physical];
    return wp_source_line_sum(b->lines, logical.file, logical.line, &sum, &first, &count);
}

/* Marks what is near a line with time. */
static void choose(const struct building *b, bool *shown)
{
    uint32_t count = b->physical->count;
    for (uint32_t i = 0; i < count; i++)
        if (count <= WHOLE_LINES)
            shown[i] = true;
        else if (has_time(b, i))
            for (uint32_t near = i > NEAR ? i - NEAR : 0; near < count && near <= i + NEAR; near++)
                shown[near] = true;
}

/* Of a statement over several lines, two of which have time: one row under it. Lines of one function are never on a
 * stack at the same level together, so their own times add up. */
static void add_statement(struct building *b, uint32_t first, uint32_t end)
{
    uint64_t self_ns = 0;
    uint32_t with_time = 0;
    for (uint32_t i = first; i < end; i++) {
        struct wp_source_site sum;
        uint32_t site, count;
        if (!wp_source_line_sum(
                b->lines, b->physical->logical[i].file, b->physical->logical[i].line, &sum, &site, &count))
            continue;
        with_time++;
        self_ns += sum.leaf_ns;
    }
    if (with_time < 2)
        return;
    struct wp_listing_row *row = add(b, WP_LISTING_SUM);
    row->text = wp_pool_printf(b->pool, "lines %u to %u are one statement", first + 1, end);
    row->total_ns = self_ns;
}

static void add_text(struct building *b)
{
    const struct wp_source_physical *p = b->physical;
    uint32_t last = b->lines->files[b->file].last_line < LINES ? b->lines->files[b->file].last_line : LINES;
    bool *shown = wp_pool_alloc(b->pool, p->count), *seen = wp_pool_alloc(b->pool, last + (size_t)1);
    uint32_t left_out = 0, statement = 0;
    if (!shown || !seen)
        return;
    choose(b, shown);
    for (uint32_t i = 0; i < p->count; i++) {
        struct wp_source_logical logical = p->logical[i];
        const char *anchor = NULL;
        statement = p->continues[i] ? statement : i;
        if (!shown[i]) {
            left_out++;
            continue;
        }
        if (left_out)
            add(b, WP_LISTING_GAP)->number = left_out;
        left_out = 0;
        bool is_own = logical.file == b->file && logical.line <= last;
        if (is_own && seen[logical.line])
            logical =
                (struct wp_source_logical){NOWHERE, 0}; /* a number that comes again: its time stands at the first */
        else if (is_own)
            anchor = wp_pool_printf(b->pool, "L%u", logical.line);
        else
            anchor = wp_pool_printf(b->pool, "P%u", i + 1);
        if (is_own && logical.file == b->file)
            seen[logical.line] = true;
        add_line(b, i + 1, logical, p->lines[i], p->continues[i], anchor);
        if (p->continues[i] && (i + 1 == p->count || !p->continues[i + 1]))
            add_statement(b, statement, i + 1);
    }
    if (left_out)
        add(b, WP_LISTING_GAP)->number = left_out;
}

static void add_counts(struct building *b)
{
    const struct wp_source_file *file = &b->lines->files[b->file];
    for (uint32_t i = 0; i < file->site_count; i++) {
        uint32_t line = b->lines->sites[file->first_site + i].line;
        if (!i || line != b->lines->sites[file->first_site + i - 1].line)
            add_line(b, 0, (struct wp_source_logical){b->file, line},
                wp_pool_clip(b->pool, b->lines->sites[file->first_site + i].function, NAME_BYTES), false,
                wp_pool_printf(b->pool, "L%u", line));
    }
}

void wp_source_listing_build(struct wp_listing *listing, struct wp_pool *pool, const struct wp_source_map *map,
    uint32_t file, const struct wp_source_physical *physical)
{
    struct wp_listing_row scratch = {0};
    const struct wp_source_lines *lines = map->lines;
    struct building b = {.listing = listing,
        .pool = pool,
        .map = map,
        .lines = lines,
        .physical = physical,
        .file = file,
        .scratch = &scratch};
    *listing = (struct wp_listing){.has_text = physical && physical->count};
    for (uint32_t i = 0; i < lines->files[file].site_count; i++) {
        const struct wp_source_site *site = &lines->sites[lines->files[file].first_site + i];
        b.most_ns = site->leaf_ns > b.most_ns ? site->leaf_ns : b.most_ns;
    }
    if (physical && listing->has_text)
        add_text(&b);
    else
        add_counts(&b);
}
