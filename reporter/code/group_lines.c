/* SPDX-License-Identifier: Apache-2.0 */
/* Sums by line of source and by file: from the report's lines, which are no stacks. */
#include "reporter/code/group_lines.h"

#include "common/intern.h"
#include "reporter/facts/code_location.h"
#include "reporter/facts/frame_table.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_RANK 2u /* the application's, and its libraries': not the C library, a runtime or the kernel */

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
 * What a line of the application calls in libraries with lines of their own is its, too. */
struct owners {
    struct wp_intern *functions;         /* owned: those that have lines */
    double *on_top, *own;                /* owned; by function */
    bool *is_application;                /* owned; by function */
    double *own_ns;                      /* owned; by site */
    const struct wp_source_lines *lines; /* borrowed */
};

static void fini_owners(struct owners *owners)
{
    wp_intern_destroy(owners->functions);
    free(owners->on_top);
    free(owners->own);
    free(owners->is_application);
    free(owners->own_ns);
}

static uint32_t function_of(const struct owners *owners, const char *name)
{
    return wp_intern_find(owners->functions, name, strlen(name));
}

static void find_application(struct owners *owners, const struct wp_facts *facts)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    for (uint32_t i = 1; i < count; i++) {
        const char *name = wp_report_text(facts->report, frames[i].name);
        uint32_t id = function_of(owners, name);
        if (id != UINT32_MAX)
            owners->is_application[id] |= wp_code_location_rank(frames[i].style, name,
                                              wp_report_text(facts->report, frames[i].object)) >= LEAST_RANK;
    }
}

static double own_of(const struct owners *owners, const struct wp_source_site *site)
{
    uint32_t id = function_of(owners, site->function);
    uint64_t called = 0;
    if (id == UINT32_MAX || !owners->is_application[id])
        return (double)site->own_ns;
    for (uint32_t i = 0; i < site->call_count; i++) {
        const struct wp_source_call *call = &owners->lines->calls[site->first_call + i];
        uint32_t callee =
            call->callee == UINT32_MAX ? UINT32_MAX : function_of(owners, owners->lines->sites[call->callee].function);
        called += callee != UINT32_MAX && owners->is_application[callee] ? call->total_ns : 0;
    }
    uint64_t left = called < site->total_ns ? site->total_ns - called : 0;
    return (double)(left > site->self_ns ? left : site->self_ns);
}

static int init_owners(struct owners *owners, const struct wp_facts *facts)
{
    const struct wp_source_lines *lines = &facts->source;
    size_t room = lines->site_count + (size_t)2;
    *owners = (struct owners){wp_intern_create(), calloc(room, sizeof(double)), calloc(room, sizeof(double)),
        calloc(room, sizeof(bool)), calloc(room, sizeof(double)), lines};
    if (!owners->functions || !owners->on_top || !owners->own || !owners->is_application || !owners->own_ns)
        return -ENOMEM;
    for (uint32_t i = 0; i < lines->site_count; i++)
        if (lines->sites[i].file < lines->file_count &&
            wp_intern_str(owners->functions, lines->sites[i].function) == UINT32_MAX)
            return -ENOMEM;
    find_application(owners, facts);
    for (uint32_t i = 0; i < lines->site_count; i++) {
        const struct wp_source_site *site = &lines->sites[i];
        if (site->file >= lines->file_count)
            continue;
        owners->own_ns[i] = own_of(owners, site);
        owners->own[function_of(owners, site->function)] += owners->own_ns[i];
    }
    return 0;
}

/* The innermost function of the top layer that has lines, of the application if there is one: the wait of another layer
 * below is that one's, not its own. UINT32_MAX: none has. */
static uint32_t owner_of(const struct owners *owners, const struct wp_facts *facts, const struct wp_stack_walk *walk)
{
    uint32_t owner = UINT32_MAX;
    for (uint32_t i = walk->depth; i--;) {
        uint32_t frame = facts->flame.nodes[walk->stack[i]].frame, style = wp_facts_frame_style(facts, frame);
        bool is_function = style == WP_STYLE_USER || style == WP_STYLE_KERNEL;
        uint32_t id = is_function ? function_of(owners, wp_facts_frame_name(facts, frame)) : UINT32_MAX;
        if (id != UINT32_MAX && owners->is_application[id])
            return id;
        owner = owner == UINT32_MAX ? id : owner;
        if (style == WP_STYLE_PROCESS)
            break;
    }
    return owner;
}

static int sum_owners(struct owners *owners, const struct wp_facts *facts)
{
    struct wp_stack_walk walk;
    wp_stack_walk_init(&walk, &facts->flame);
    while (!walk.failed && wp_stack_walk_next(&walk)) {
        uint32_t id = owner_of(owners, facts, &walk);
        if (id != UINT32_MAX)
            owners->on_top[id] += (double)walk.cell->ns;
    }
    bool failed = walk.failed;
    wp_stack_walk_fini(&walk);
    return failed ? -ENOMEM : 0;
}

static uint64_t on_top(const struct owners *owners, uint32_t site)
{
    uint32_t id = function_of(owners, owners->lines->sites[site].function);
    return id == UINT32_MAX || owners->own[id] <= 0
        ? 0
        : (uint64_t)(owners->on_top[id] * (owners->own_ns[site] / owners->own[id]));
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
            ? (struct wp_group_row){wp_pool_printf(&group->pool, "%s:%u", file->path, site->line),
                  wp_pool_printf(&group->pool, "%s", site->function), 0, 0, 0, 0}
            : (struct wp_group_row){wp_pool_printf(&group->pool, "%s", file->path), "", 0, 0, 0, 0};
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
    bool failed = init_owners(&owners, facts) || sum_owners(&owners, facts) || !group->rows;
    for (uint32_t i = 0; !failed && i < lines->file_count; i++) {
        bool is_new = true;
        for (uint32_t at = 0; at < lines->files[i].site_count; at++) {
            uint32_t number = lines->files[i].first_site + at;
            const struct wp_source_site *site = &lines->sites[number];
            if (filter->function && fnmatch(filter->function, site->function, 0))
                continue;
            add(group, &lines->files[i], site, &(struct row_kind){by_line, is_new, on_top(&owners, number)});
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
