/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/running_text.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/stack_text.h"
#include "reporter/findings/caller_up.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_SAMPLED 20u /* pieces that stand for those without a sample */

static uint32_t frame_of(const struct wp_process_groups *groups, uint32_t node)
{
    return groups->facts->flame.nodes[node].frame;
}

/* The function that this piece of the group's time ran in; 0: it is none of the group's, or was not sampled. */
static uint32_t function_run(
    const struct wp_process_groups *groups, const struct wp_process_group *group, const struct wp_cell *cell)
{
    bool is_of = cell->category == WP_UNDERSTOOD_FUNCTIONS && frame_of(groups, cell->node) != group->process &&
        wp_process_groups_has(groups, group, cell);
    return is_of ? wp_code_location_running(groups->facts, cell->node) : 0;
}

/* The node of the largest piece of the group's that ran in that function; 0 none. */
static uint32_t longest_in(
    const struct wp_process_groups *groups, const struct wp_process_group *group, uint32_t function)
{
    const struct wp_cell *most = NULL;
    for (uint32_t i = 0; i < groups->facts->flame.cell_count; i++) {
        const struct wp_cell *cell = &groups->facts->flame.cells[i];
        if (function_run(groups, group, cell) == function && (!most || cell->ns > most->ns))
            most = cell;
    }
    return most ? most->node : 0;
}

/* Where the program's own code calls that function, most of all; "": it is the program's own, and who calls it says no
 * more, or nobody of it does. */
static const char *called_from(
    const struct wp_process_groups *groups, const struct wp_process_group *group, uint32_t function)
{
    struct wp_facts *facts = groups->facts;
    uint32_t node = longest_in(groups, group, function);
    struct wp_code_location location = wp_code_location_at(facts, groups->causes->locations, node);
    if (!location.function)
        return "";
    bool is_own = !strcmp(location.function, wp_facts_frame_name(facts, function));
    struct wp_caller_sums sums;
    wp_caller_sums_init(&sums, groups->causes, facts);
    for (uint32_t i = 0; i < facts->flame.cell_count; i++)
        if (function_run(groups, group, &facts->flame.cells[i]) == function)
            wp_caller_sums_add(&sums, &facts->flame.cells[i], facts->flame.cells[i].node);
    uint32_t caller = wp_caller_up(&sums, node);
    wp_caller_sums_fini(&sums);
    if (!caller && is_own)
        return "";
    if (caller && (is_own || wp_caller_is_helper(groups->causes, facts, node)))
        location = wp_code_location_call(facts, caller, node);
    return wp_pool_printf(&facts->pool, ", called from %s", wp_code_location_text(&facts->pool, &location));
}

const char *wp_running_busiest(const struct wp_process_groups *groups, const struct wp_process_group *group)
{
    struct wp_facts *facts = groups->facts;
    uint64_t *sums = calloc(groups->frame_count + 1u, sizeof(*sums));
    uint32_t best = 0;
    facts->pool.failed |= !sums;
    for (uint32_t i = 0; sums && i < facts->flame.cell_count; i++) {
        uint32_t frame = function_run(groups, group, &facts->flame.cells[i]);
        if (!frame)
            continue;
        sums[frame] += facts->flame.cells[i].ns;
        if (!best || sums[frame] > sums[best])
            best = frame;
    }
    free(sums);
    const char *name = best ? wp_stack_plain_function(&facts->pool, wp_facts_frame_name(facts, best)) : NULL;
    return name ? wp_pool_printf(&facts->pool, "%s%s", name, called_from(groups, group, best)) : NULL;
}

const char *wp_running_sampled(const struct wp_process_groups *groups, const struct wp_process_group *group)
{
    struct wp_facts *facts = groups->facts;
    uint64_t pieces = 0, ns = 0, most_ns = 0;
    uint32_t best = 0;
    uint64_t *sums = calloc(groups->frame_count + 1u, sizeof(*sums));
    facts->pool.failed |= !sums;
    for (uint32_t i = 0; sums && i < facts->flame.cell_count; i++) {
        const struct wp_cell *cell = &facts->flame.cells[i];
        if (!function_run(groups, group, cell))
            continue;
        uint32_t frame = frame_of(groups, groups->causes->locations[cell->node]);
        pieces += cell->count;
        ns += cell->ns;
        sums[frame] += frame ? cell->ns : 0;
        best = sums[frame] > sums[best] ? frame : best;
    }
    most_ns = sums ? sums[best] : 0;
    free(sums);
    if (pieces < LEAST_SAMPLED || !best || most_ns < ns / 2)
        return "";
    const char *name = wp_stack_plain_function(&facts->pool, wp_facts_frame_name(facts, best));
    return wp_pool_printf(
        &facts->pool, "; %s of what was sampled of it is in `%s`", wp_human_share(&facts->pool, most_ns, ns), name);
}
