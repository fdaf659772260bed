/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by line of source and by file: from the report's lines, which are no stacks. */
#include "reporter/code/group_lines.h"

#include "common/intern.h"
#include "reporter/facts/frame_table.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *left, const void *right)
{
    const struct wp_group_row *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (a->inclusive_ns != b->inclusive_ns)
        return a->inclusive_ns > b->inclusive_ns ? -1 : 1;
    int rc = strcmp(a->name, b->name);
    return rc ? rc : strcmp(a->object, b->object);
}

void wp_group_sort(struct wp_group *group)
{
    if (group->count)
        qsort(group->rows, group->count, sizeof(*group->rows), compare);
}

/* Time on top by function, and the own time of all its lines: where one has several, they share as they have own time.
 */
struct owners {
    struct wp_intern *functions; /* owned: those that have lines */
    double *on_top, *own;        /* owned; by function */
};

static void fini_owners(struct owners *owners)
{
    wp_intern_destroy(owners->functions);
    free(owners->on_top);
    free(owners->own);
}

static int init_owners(struct owners *owners, const struct wp_source_lines *lines)
{
    *owners = (struct owners){wp_intern_create(), calloc(lines->site_count + (size_t)2, sizeof(double)),
        calloc(lines->site_count + (size_t)2, sizeof(double))};
    if (!owners->functions || !owners->on_top || !owners->own)
        return -ENOMEM;
    for (uint32_t i = 0; i < lines->site_count; i++) {
        const struct wp_source_site *site = &lines->sites[i];
        if (site->file >= lines->file_count)
            continue;
        uint32_t id = wp_intern_str(owners->functions, site->function);
        if (id == UINT32_MAX)
            return -ENOMEM;
        owners->own[id] += (double)site->own_ns;
    }
    return 0;
}

/* The innermost function of the top layer that has lines: the wait of another layer below is that one's, not its own.
 */
static int sum_owners(struct owners *owners, const struct wp_facts *facts)
{
    struct wp_stack_walk walk;
    wp_stack_walk_init(&walk, &facts->flame);
    while (!walk.failed && wp_stack_walk_next(&walk))
        for (uint32_t i = walk.depth; i--;) {
            uint32_t frame = facts->flame.nodes[walk.stack[i]].frame, style = wp_facts_frame_style(facts, frame);
            const char *name = wp_facts_frame_name(facts, frame);
            bool is_function = style == WP_STYLE_USER || style == WP_STYLE_KERNEL;
            uint32_t id = is_function ? wp_intern_find(owners->functions, name, strlen(name)) : UINT32_MAX;
            if (id != UINT32_MAX)
                owners->on_top[id] += (double)walk.cell->ns;
            if (id != UINT32_MAX || style == WP_STYLE_PROCESS)
                break;
        }
    bool failed = walk.failed;
    wp_stack_walk_fini(&walk);
    return failed ? -ENOMEM : 0;
}

static uint64_t on_top(const struct owners *owners, const struct wp_source_site *site)
{
    uint32_t id = wp_intern_find(owners->functions, site->function, strlen(site->function));
    return id == UINT32_MAX || owners->own[id] <= 0
        ? 0
        : (uint64_t)(owners->on_top[id] * ((double)site->own_ns / owners->own[id]));
}

struct row_kind {
    bool by_line, is_new; /* is_new: the file's first */
    uint64_t ns;          /* on top */
};

/* Of a file: the largest line stands for all, since lines stand on each other. */
static void add(struct wp_group *group, const struct wp_source_file *file, const struct wp_source_site *site,
    const struct row_kind *kind)
{
    bool by_line = kind->by_line, is_new = kind->is_new;
    if (by_line || is_new)
        group->rows[group->count++] = by_line
            ? (struct wp_group_row){wp_pool_printf(&group->pool, "%s:%u", file->path, site->line), site->function, 0, 0,
                  0}
            : (struct wp_group_row){file->path, "", 0, 0, 0};
    struct wp_group_row *row = &group->rows[group->count - 1];
    row->ns += kind->ns;
    row->inclusive_ns = site->total_ns > row->inclusive_ns ? site->total_ns : row->inclusive_ns;
    group->matched_ns += kind->ns;
}

int wp_group_lines(struct wp_group *group, const struct wp_facts *facts, const struct wp_group_filter *filter,
    bool by_line, struct wp_error *err)
{
    const struct wp_source_lines *lines = &facts->source;
    memset(group, 0, sizeof(*group));
    if (filter->process || filter->host || filter->categories)
        return wp_error_set(err, -EINVAL, "lines of source can be chosen by function only");
    group->total_ns = facts->total_ns;
    group->rows = calloc(lines->site_count + (size_t)1, sizeof(*group->rows));
    struct owners owners;
    bool failed = init_owners(&owners, lines) || sum_owners(&owners, facts) || !group->rows;
    for (uint32_t i = 0; !failed && i < lines->file_count; i++) {
        bool is_new = true;
        for (uint32_t at = 0; at < lines->files[i].site_count; at++) {
            const struct wp_source_site *site = &lines->sites[lines->files[i].first_site + at];
            if (filter->function && fnmatch(filter->function, site->function, 0))
                continue;
            add(group, &lines->files[i], site, &(struct row_kind){by_line, is_new, on_top(&owners, site)});
            is_new = false;
        }
    }
    fini_owners(&owners);
    if (!failed)
        wp_group_sort(group);
    if (!failed && !group->pool.failed)
        return 0;
    return wp_error_set(err, -ENOMEM, "out of memory for the lines of %s", facts->aggregate);
}
