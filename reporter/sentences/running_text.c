/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sentences/running_text.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/stack_text.h"
#include "reporter/causes/caller_up.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_SAMPLED 20u /* pieces that stand for those without a sample */

static uint32_t frame_of(const struct wp_process_groups *groups, uint32_t node)
{
    return groups->facts->flame.nodes[node].frame;
}

/* The function that this piece ran in; 0: it was not sampled. */
static uint32_t function_at(const struct wp_facts *facts, const struct wp_cell *cell)
{
    bool is_process = wp_facts_frame_style(facts, facts->flame.nodes[cell->node].frame) == WP_STYLE_PROCESS;
    return cell->category == WP_UNDERSTOOD_FUNCTIONS && !is_process ? wp_code_location_running(facts, cell->node) : 0;
}

/* The same of a piece of the group's time; 0 of another. */
static uint32_t function_run(
    const struct wp_process_groups *groups, const struct wp_process_group *group, const struct wp_cell *cell)
{
    return wp_process_groups_has(groups, group, cell) ? function_at(groups->facts, cell) : 0;
}

/* Where the program's own code calls that function, most of all; "": it is the program's own, and who calls it says no
 * more, or nobody of it does. */
static const char *called_from(
    const struct wp_causes *causes, struct wp_facts *facts, const bool *is_its, uint32_t function)
{
    const struct wp_cell *most = NULL;
    struct wp_caller_sums sums;
    wp_caller_sums_init(&sums, causes, facts);
    for (uint32_t i = 0; i < facts->flame.cell_count; i++) {
        const struct wp_cell *cell = &facts->flame.cells[i];
        if (!is_its[i] || function_at(facts, cell) != function)
            continue;
        wp_caller_sums_add(&sums, cell, cell->node);
        if (!most || cell->ns > most->ns)
            most = cell;
    }
    uint32_t node = most ? most->node : 0, caller = wp_caller_up(&sums, node);
    wp_caller_sums_fini(&sums);
    struct wp_code_location location = wp_code_location_at(facts, causes->locations, node);
    if (!location.function)
        return "";
    bool is_own = !strcmp(location.function, wp_facts_frame_name(facts, function));
    if (!caller && is_own)
        return "";
    if (caller && (is_own || wp_caller_is_helper(causes, facts, node)))
        location = wp_code_location_call(facts, caller, node);
    return wp_pool_printf(&facts->pool, ", called from %s", wp_code_location_text(&facts->pool, &location));
}

const char *wp_running_function(const struct wp_causes *causes, struct wp_facts *facts, const bool *is_its)
{
    uint32_t frames, best = 0;
    wp_report_frames(facts->report, &frames);
    uint64_t *sums = calloc(frames + 1u, sizeof(*sums));
    facts->pool.failed |= !sums;
    for (uint32_t i = 0; sums && i < facts->flame.cell_count; i++) {
        uint32_t frame = is_its[i] ? function_at(facts, &facts->flame.cells[i]) : 0;
        if (!frame)
            continue;
        sums[frame] += facts->flame.cells[i].ns;
        if (!best || sums[frame] > sums[best])
            best = frame;
    }
    free(sums);
    const char *name = best ? wp_stack_plain_function(&facts->pool, wp_facts_frame_name(facts, best)) : NULL;
    return name ? wp_pool_printf(&facts->pool, "%s%s", name, called_from(causes, facts, is_its, best)) : NULL;
}

const char *wp_running_busiest(const struct wp_process_groups *groups, const struct wp_process_group *group)
{
    const struct wp_flame *flame = &groups->facts->flame;
    bool *is_its = calloc(flame->cell_count + 1u, sizeof(*is_its));
    groups->facts->pool.failed |= !is_its;
    for (uint32_t i = 0; is_its && i < flame->cell_count; i++)
        is_its[i] = wp_process_groups_has(groups, group, &flame->cells[i]);
    const char *text = is_its ? wp_running_function(groups->causes, groups->facts, is_its) : NULL;
    free(is_its);
    return text;
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
