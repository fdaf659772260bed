/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/call_lines.h"

#include "common/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wp_call_lines {
    const struct wp_source_lines *source;
    const struct wp_source_site **sites; /* with a file, by function */
    uint32_t count;
};

static int compare_sites(const void *left, const void *right)
{
    const struct wp_source_site *a = *(const struct wp_source_site *const *)left;
    const struct wp_source_site *b = *(const struct wp_source_site *const *)right;
    int order = strcmp(a->function, b->function);
    return order ? order : (a > b) - (a < b);
}

int wp_call_lines_create(struct wp_call_lines **made, const struct wp_source_lines *source)
{
    struct wp_call_lines *lines = calloc(1, sizeof(*lines));
    *made = NULL;
    if (lines)
        lines->sites = calloc(source->site_count + 1u, sizeof(*lines->sites));
    if (!lines || !lines->sites) {
        free(lines);
        return -ENOMEM;
    }
    lines->source = source;
    for (uint32_t i = 0; i < source->site_count; i++)
        if (source->sites[i].file != UINT32_MAX)
            lines->sites[lines->count++] = &source->sites[i];
    qsort(lines->sites, lines->count, sizeof(*lines->sites), compare_sites);
    *made = lines;
    return 0;
}

void wp_call_lines_destroy(struct wp_call_lines *lines)
{
    if (!lines)
        return;
    free(lines->sites);
    free(lines);
}

static uint64_t called_ns(const struct wp_call_lines *lines, const struct wp_source_site *site, const char *callee)
{
    uint64_t ns = 0;
    for (uint32_t i = 0; i < site->call_count; i++) {
        const struct wp_source_call *call = &lines->source->calls[site->first_call + i];
        if (!strcmp(call->name, callee))
            ns += call->total_ns;
    }
    return ns;
}

uint32_t wp_call_line(const struct wp_call_lines *lines, const char *function, const char *callee)
{
    uint32_t place = WP_LOWER_BOUND(middle, 0, lines->count, strcmp(lines->sites[middle]->function, function) < 0);
    uint64_t most_called = 0, most_own = 0;
    uint32_t called = 0, own = 0;
    for (; place < lines->count && !strcmp(lines->sites[place]->function, function); place++) {
        const struct wp_source_site *site = lines->sites[place];
        uint64_t ns = callee ? called_ns(lines, site, callee) : 0;
        if (ns > most_called) {
            most_called = ns;
            called = site->line;
        }
        if (!own || site->own_ns > most_own) {
            most_own = site->own_ns;
            own = site->line;
        }
    }
    return called ? called : own;
}
