/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by line of source and by file: from the report's lines, which are no stacks. */
#include "reporter/facts/group_lines.h"

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

/* Of a file: the largest line stands for all, since lines stand on each other. */
static void add(struct wp_group *group, const struct wp_source_file *file, const struct wp_source_site *site,
    bool by_line, bool is_new)
{
    if (by_line || is_new)
        group->rows[group->count++] = by_line
            ? (struct wp_group_row){wp_pool_printf(&group->pool, "%s:%u", file->path, site->line), site->function, 0, 0,
                  0}
            : (struct wp_group_row){file->path, "", 0, 0, 0};
    struct wp_group_row *row = &group->rows[group->count - 1];
    row->ns += site->own_ns;
    row->inclusive_ns = site->total_ns > row->inclusive_ns ? site->total_ns : row->inclusive_ns;
    group->matched_ns += site->own_ns;
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
    for (uint32_t i = 0; group->rows && i < lines->file_count; i++) {
        bool is_new = true;
        for (uint32_t at = 0; at < lines->files[i].site_count; at++) {
            const struct wp_source_site *site = &lines->sites[lines->files[i].first_site + at];
            if (filter->function && fnmatch(filter->function, site->function, 0))
                continue;
            add(group, &lines->files[i], site, by_line, is_new);
            is_new = false;
        }
    }
    if (group->rows)
        qsort(group->rows, group->count, sizeof(*group->rows), compare);
    if (group->rows && !group->pool.failed)
        return 0;
    return wp_error_set(err, -ENOMEM, "out of memory for the lines of %s", facts->aggregate);
}
