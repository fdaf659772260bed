/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/caller_told.h"

#include "reporter/causes/caller_up.h"
#include "reporter/causes/cause_callers.h"

/* Whether the first of the functions (frames) stands between the nodes, called from the second. */
static bool is_between(
    const struct wp_causes *causes, const struct wp_facts *facts, const uint32_t functions[2], const uint32_t ends[2])
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    for (uint32_t at = ends[0]; at && at != ends[1]; at = nodes[at].parent)
        if (causes->locations[at] == at && nodes[at].frame == functions[0]) {
            uint32_t found = wp_code_location_caller(facts, causes->locations, at);
            if (found && nodes[found].frame == functions[1])
                return true;
        }
    return false;
}

/* The cause's time in which that place is called from there: by its own layer, or by those above it. */
static uint64_t time_of(
    const struct wp_causes *causes, const struct wp_facts *facts, const struct wp_caller_place *at, uint32_t caller)
{
    const struct wp_flame *flame = &facts->flame;
    const uint32_t frames[2] = {flame->nodes[causes->locations[at->place]].frame, flame->nodes[caller].frame};
    uint64_t ns = 0;
    for (uint32_t i = 0; i < flame->cell_count; i++) {
        uint32_t sleep = causes->cell_sleep[i];
        const uint32_t above[2] = {flame->cells[i].node, sleep}, own[2] = {sleep, 0};
        if (causes->cell_cause[i] == at->row + 1 && is_between(causes, facts, frames, at->is_above ? above : own))
            ns += flame->cells[i].ns;
    }
    return ns;
}

uint32_t wp_caller_told(const struct wp_causes *causes, const struct wp_facts *facts, const struct wp_caller_place *at)
{
    uint32_t caller = wp_code_location_caller(facts, causes->locations, at->place);
    if (!caller || wp_code_location_is_entry(wp_facts_frame_name(facts, facts->flame.nodes[caller].frame)))
        return 0;
    bool is_told = wp_caller_is_helper(causes, facts, at->place) &&
        wp_cause_caller_has_most(time_of(causes, facts, at, caller), at->ns);
    return is_told ? caller : 0;
}
