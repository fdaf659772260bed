/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/source_lines.h"

#include "common/array.h"
#include "common/intmap.h"
#include "storage/report/report_lines.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define NOWHERE UINT32_MAX

struct building {
    struct wp_source_lines *lines;
    const struct wp_report *report;
    const struct wp_report_site *from;
    uint32_t *place;            /* site of the report -> place in sites */
    uint32_t *order;            /* the other way */
    struct wp_intmap functions; /* name -> place of the first line that stands for it */
};

static const char *text(const struct building *b, uint32_t id)
{
    return wp_report_text(b->report, id);
}

/* By path, the nameless last; then as in the file. */
static int compare_sites(const void *left, const void *right, void *context)
{
    const struct building *b = context;
    const struct wp_report_site *x = &b->from[*(const uint32_t *)left], *y = &b->from[*(const uint32_t *)right];
    if (!x->file != !y->file)
        return x->file ? -1 : 1;
    int rc = strcmp(text(b, x->file), text(b, y->file));
    if (!rc && x->line != y->line)
        rc = x->line < y->line ? -1 : 1;
    return rc ? rc : strcmp(text(b, x->function), text(b, y->function));
}

static void add_times(struct building *b)
{
    uint32_t count;
    const struct wp_report_line *rows = wp_report_lines(b->report, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct wp_source_site *site = &b->lines->sites[b->place[rows[i].site]];
        site->total_ns += rows[i].total_ns;
        site->run_ns += rows[i].run_ns;
        site->self_ns += rows[i].self_ns;
        site->categories[rows[i].category] += rows[i].total_ns;
    }
}

static void take_sites(struct building *b)
{
    struct wp_source_lines *lines = b->lines;
    for (uint32_t i = 0; i < lines->site_count; i++) {
        const struct wp_report_site *from = &b->from[b->order[i]];
        b->place[b->order[i]] = i;
        if (from->file && (!i || b->from[b->order[i - 1]].file != from->file))
            lines->files[lines->file_count++] = (struct wp_source_file){.path = text(b, from->file), .first_site = i};
        lines->sites[i] = (struct wp_source_site){.file = from->file ? lines->file_count - 1 : NOWHERE,
            .line = from->line,
            .function = text(b, from->function)};
        if (from->file)
            lines->files[lines->file_count - 1].site_count++;
    }
    add_times(b);
}

/* The first line of each function in each file; of those of one name the one with the most time stands for the name. */
static void find_functions(struct building *b)
{
    struct wp_source_lines *lines = b->lines;
    struct wp_intmap seen = {0};
    for (uint32_t i = 0; i < lines->site_count; i++) {
        struct wp_source_site *site = &lines->sites[i];
        uint32_t name = b->from[b->order[i]].function, best;
        struct wp_intkey key = {site->file, name};
        if (site->file == NOWHERE || wp_intmap_get(&seen, key, &best) || wp_intmap_put(&seen, key, i))
            continue;
        site->is_first = true;
        if (!wp_intmap_get(&b->functions, (struct wp_intkey){name, 0}, &best) ||
            lines->sites[best].total_ns < site->total_ns)
            wp_intmap_put(&b->functions, (struct wp_intkey){name, 0}, i);
    }
    wp_intmap_fini(&seen);
}

static int compare_calls(const void *left, const void *right)
{
    const struct wp_source_call *a = left, *b = right;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    int rc = strcmp(a->name, b->name);
    return rc ? rc : a->style != b->style ? (a->style < b->style ? -1 : 1) : a->is_inlined - b->is_inlined;
}

static int compare_callees(const void *left, const void *right, void *context)
{
    const struct wp_source_call *calls = context;
    const struct wp_source_call *a = &calls[*(const uint32_t *)left], *b = &calls[*(const uint32_t *)right];
    if (a->callee != b->callee)
        return a->callee < b->callee ? -1 : 1;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site;
}

static void take_calls(struct building *b, const struct wp_report_call *from)
{
    struct wp_source_lines *lines = b->lines;
    for (uint32_t i = 0; i < lines->call_count; i++) {
        uint32_t callee = NOWHERE;
        if (from[i].style == WP_STYLE_USER)
            wp_intmap_get(&b->functions, (struct wp_intkey){from[i].callee, 0}, &callee);
        lines->calls[i] = (struct wp_source_call){b->place[from[i].site], callee, text(b, from[i].callee),
            from[i].style, from[i].is_inlined, from[i].total_ns, from[i].run_ns};
        lines->by_callee[i] = i;
    }
    if (!lines->call_count)
        return;
    qsort(lines->calls, lines->call_count, sizeof(*lines->calls), compare_calls);
    qsort_r(lines->by_callee, lines->call_count, sizeof(*lines->by_callee), compare_callees, lines->calls);
    for (uint32_t i = lines->call_count; i-- > 0;) {
        lines->sites[lines->calls[i].site].first_call = i;
        lines->sites[lines->calls[i].site].call_count++;
    }
}

/* At least `least`: in recursion what is called is the line itself. */
static uint64_t less(uint64_t all, uint64_t part, uint64_t least)
{
    return part < all && all - part > least ? all - part : least;
}

static void sum_files(struct wp_source_lines *lines)
{
    for (uint32_t i = 0; i < lines->site_count; i++) {
        struct wp_source_site *site = &lines->sites[i];
        uint64_t called = 0, inside = 0;
        for (uint32_t i_call = 0; i_call < site->call_count; i_call++) {
            const struct wp_source_call *call = &lines->calls[site->first_call + i_call];
            called += call->callee == NOWHERE ? 0 : call->total_ns;
            inside += call->callee == NOWHERE || lines->sites[call->callee].file != site->file ? 0 : call->total_ns;
        }
        site->own_ns = less(site->total_ns, called, site->self_ns);
        site->leaf_ns = less(site->total_ns, inside, site->self_ns);
        if (site->file == NOWHERE)
            continue;
        struct wp_source_file *file = &lines->files[site->file];
        file->self_ns += site->self_ns;
        file->own_ns += site->own_ns;
        file->last_line = site->line;
        if (site->total_ns > file->largest_ns) {
            file->largest_ns = site->total_ns;
            file->largest_line = site->line;
        }
    }
}

static int compare_files(const void *left, const void *right)
{
    const struct wp_source_file *a = left, *b = right;
    if (a->own_ns != b->own_ns)
        return a->own_ns > b->own_ns ? -1 : 1;
    if (a->largest_ns != b->largest_ns)
        return a->largest_ns > b->largest_ns ? -1 : 1;
    return strcmp(a->path, b->path);
}

static void rank_files(struct wp_source_lines *lines)
{
    if (lines->file_count)
        qsort(lines->files, lines->file_count, sizeof(*lines->files), compare_files);
    for (uint32_t i = 0; i < lines->file_count; i++)
        for (uint32_t site = 0; site < lines->files[i].site_count; site++)
            lines->sites[lines->files[i].first_site + site].file = i;
}

void wp_source_lines_build(struct wp_source_lines *lines, struct wp_pool *pool, const struct wp_report *report)
{
    uint32_t sites, calls;
    struct building b = {.lines = lines, .report = report, .from = wp_report_sites(report, &sites)};
    const struct wp_report_call *call = wp_report_calls(report, &calls);
    *lines = (struct wp_source_lines){0};
    b.place = wp_pool_alloc(pool, (sites + (size_t)1) * sizeof(*b.place));
    b.order = wp_pool_alloc(pool, (sites + (size_t)1) * sizeof(*b.order));
    lines->files = wp_pool_alloc(pool, (sites + (size_t)1) * sizeof(*lines->files));
    lines->sites = wp_pool_alloc(pool, (sites + (size_t)1) * sizeof(*lines->sites));
    lines->calls = wp_pool_alloc(pool, (calls + (size_t)1) * sizeof(*lines->calls));
    lines->by_callee = wp_pool_alloc(pool, (calls + (size_t)1) * sizeof(*lines->by_callee));
    if (!b.place || !b.order || !lines->files || !lines->sites || !lines->calls || !lines->by_callee || !sites)
        return;
    lines->site_count = sites;
    lines->call_count = calls;
    for (uint32_t i = 0; i < sites; i++)
        b.order[i] = i;
    qsort_r(b.order, sites, sizeof(*b.order), compare_sites, &b);
    take_sites(&b);
    find_functions(&b);
    take_calls(&b, call);
    sum_files(lines);
    rank_files(lines);
    wp_intmap_fini(&b.functions);
}

uint32_t wp_source_function(const struct wp_source_lines *lines, const char *function)
{
    uint32_t best = NOWHERE;
    for (uint32_t i = 0; i < lines->site_count; i++)
        if (lines->sites[i].is_first && !strcmp(lines->sites[i].function, function) &&
            (best == NOWHERE || lines->sites[i].total_ns > lines->sites[best].total_ns))
            best = i;
    return best;
}

const uint32_t *wp_source_callers(const struct wp_source_lines *lines, uint32_t callee, uint32_t *count)
{
    uint32_t low = WP_LOWER_BOUND(middle, 0, lines->call_count, lines->calls[lines->by_callee[middle]].callee < callee);
    for (*count = 0; low + *count < lines->call_count && lines->calls[lines->by_callee[low + *count]].callee == callee;
         ++*count)
        ;
    return lines->by_callee + low;
}

const char *wp_source_base(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

bool wp_source_line_sum(const struct wp_source_lines *lines, uint32_t file, uint32_t line, struct wp_source_site *sum,
    uint32_t *first_site, uint32_t *site_count)
{
    *sum = (struct wp_source_site){.file = file, .line = line};
    *site_count = 0;
    if (file >= lines->file_count)
        return false;
    uint32_t first = lines->files[file].first_site, end = first + lines->files[file].site_count;
    uint32_t low = WP_LOWER_BOUND(middle, first, end, lines->sites[middle].line < line);
    *first_site = low;
    for (; low + *site_count < end && lines->sites[low + *site_count].line == line; ++*site_count) {
        const struct wp_source_site *site = &lines->sites[low + *site_count];
        sum->total_ns += site->total_ns;
        sum->run_ns += site->run_ns;
        sum->self_ns += site->self_ns;
        sum->own_ns += site->own_ns;
        sum->leaf_ns += site->leaf_ns;
        for (int i = 0; i < WP_CATEGORIES; i++)
            sum->categories[i] += site->categories[i];
    }
    return *site_count > 0;
}
