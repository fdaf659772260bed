/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/code/functions.h"

#include "reporter/facts/code_location.h"
#include "reporter/facts/stack_ends.h"
#include "storage/report/report_read.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct sums {
    struct wp_function_fact *rows; /* by frame id */
    uint32_t *open;                /* by frame id: how often it stands on the current stack */
    uint32_t frame_count;
};

static bool is_function(uint32_t style)
{
    return style == WP_STYLE_USER || style == WP_STYLE_KERNEL;
}

/* The function that a node's own time belongs to: itself, or the nearest below it in the same layer; 0 none. With
 * `past_scheduler` the nearest one that is not the scheduler's, where there is one. */
static uint32_t innermost(const struct wp_facts *facts, uint32_t node, bool past_scheduler)
{
    uint32_t first = 0;
    for (; node; node = facts->flame.nodes[node].parent) {
        uint32_t frame = facts->flame.nodes[node].frame, style = wp_facts_frame_style(facts, frame);
        if (style == WP_STYLE_PROCESS)
            break;
        if (!is_function(style))
            continue;
        if (!past_scheduler || !wp_stack_is_scheduler(style, wp_facts_frame_name(facts, frame)))
            return frame;
        first = first ? first : frame;
    }
    return first;
}

/* A program's own: not of the kernel, the C library, a language's runtime or an interpreter. */
static bool is_application(const struct wp_facts *facts, uint32_t frame)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    const char *name = wp_report_text(facts->report, frames[frame].name);
    return wp_code_location_rank(frames[frame].style, *name == '[' ? "nameless" : name,
               wp_report_text(facts->report, frames[frame].object)) >= 2;
}

/* The innermost of them in the node's layer, 0 none. */
static uint32_t application(const struct wp_facts *facts, uint32_t node)
{
    for (; node; node = facts->flame.nodes[node].parent) {
        uint32_t frame = facts->flame.nodes[node].frame, style = wp_facts_frame_style(facts, frame);
        if (style == WP_STYLE_PROCESS)
            return 0;
        if (style == WP_STYLE_USER && is_application(facts, frame))
            return frame;
    }
    return 0;
}

static void add_application(struct wp_function_fact *row, const struct wp_cell *cell)
{
    if (cell->category == WP_UNDERSTOOD_FUNCTIONS || cell->category == WP_RUNNING_NOT_SAMPLED)
        row->app_running_ns += cell->ns;
    else
        row->app_waiting_ns += cell->ns;
    row->app_count += cell->count;
}

static void add_own(struct sums *sums, const struct wp_facts *facts, uint32_t node)
{
    const struct wp_flame_node *at = &facts->flame.nodes[node];
    uint32_t frame = at->cell_count ? innermost(facts, node, false) : 0;
    if (!frame)
        return;
    uint32_t blocked = innermost(facts, node, true), own = application(facts, node);
    for (uint32_t i = at->cell; i < at->cell + at->cell_count; i++) {
        const struct wp_cell *cell = &facts->flame.cells[i];
        if (own && cell->category != WP_OTHER_PATH) /* that is told where it is counted itself */
            add_application(&sums->rows[own], cell);
        if (cell->category == WP_UNDERSTOOD_FUNCTIONS) {
            sums->rows[frame].running_ns += cell->ns;
            sums->rows[frame].own_count += cell->count;
        } else {
            sums->rows[frame].waiting_ns += cell->ns;
            sums->rows[blocked].blocked_ns += cell->ns;
            sums->rows[blocked].own_count += cell->count;
        }
        sums->rows[frame].count += cell->count;
    }
}

/* Preorder with closing: nodes whose range has ended leave the stack before the next one enters it. */
static void walk(struct sums *sums, const struct wp_facts *facts)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    uint32_t top = 0;
    for (uint32_t i = 1; i < facts->flame.count; i++) {
        for (; top && nodes[top].end <= i; top = nodes[top].parent)
            sums->open[nodes[top].frame]--;
        top = i;
        if (!sums->open[nodes[i].frame]++)
            sums->rows[nodes[i].frame].inclusive_ns += nodes[i].total_ns;
        add_own(sums, facts, i);
    }
}

static int compare(const void *left, const void *right)
{
    const struct wp_function_fact *a = left, *b = right;
    if (a->inclusive_ns != b->inclusive_ns)
        return a->inclusive_ns > b->inclusive_ns ? -1 : 1;
    if (a->running_ns != b->running_ns)
        return a->running_ns > b->running_ns ? -1 : 1;
    int rc = strcmp(a->name, b->name);
    rc = rc ? rc : strcmp(a->object, b->object);
    return rc ? rc : (int)a->style - (int)b->style;
}

void wp_functions_build(struct wp_facts *facts)
{
    struct sums sums = {0};
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &sums.frame_count);
    sums.rows = wp_pool_alloc(&facts->pool, (sums.frame_count + 1u) * sizeof(*sums.rows));
    sums.open = calloc(sums.frame_count + 1u, sizeof(*sums.open));
    if (sums.rows && sums.open)
        walk(&sums, facts);
    else
        facts->pool.failed = true;
    for (uint32_t i = 1; !facts->pool.failed && i < sums.frame_count; i++) {
        if (!is_function(frames[i].style) || !sums.rows[i].inclusive_ns)
            continue;
        struct wp_function_fact row = sums.rows[i];
        row.name = wp_report_text(facts->report, frames[i].name);
        row.object = wp_report_text(facts->report, frames[i].object);
        row.style = frames[i].style;
        row.frame = i;
        sums.rows[facts->function_count++] = row; /* in place: never past the row just read */
    }
    facts->functions = sums.rows;
    if (facts->function_count)
        qsort(facts->functions, facts->function_count, sizeof(*facts->functions), compare);
    free(sums.open);
}

size_t wp_functions_find(const struct wp_facts *facts, const char *name)
{
    for (size_t i = 0; i < facts->function_count; i++)
        if (facts->functions[i].name == name) /* a report has each text once */
            return i;
    return SIZE_MAX;
}
