/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/caller_text.h"

#include "reporter/findings/callers.h"
#include "reporter/findings/cause_callers.h"

#include <string.h>

/* The file of the layer's outermost function of the program, which calls `place` or who does so; NULL: not known. */
static const char *outermost_file(const struct wp_cause_case *of, uint32_t place)
{
    uint32_t below = place, at = place, next;
    while ((next = wp_code_location_caller(of->facts, of->causes->locations, at)) != 0) {
        below = at;
        at = next;
    }
    return wp_code_location_call(of->facts, at, below).file;
}

/* Whether its caller tells more than the function at that place: several call it, or it lies in a file of helpers. */
static bool is_helper(const struct wp_cause_case *of, uint32_t place, const struct wp_code_location *call)
{
    uint32_t own = of->causes->locations[place];
    if (of->causes->callers[of->facts->flame.nodes[own].frame] == WP_CALLERS_SEVERAL)
        return true;
    struct wp_code_location location = wp_code_location_at(of->facts, of->causes->locations, place);
    const char *outermost = outermost_file(of, place);
    return location.file && call->file && outermost && strcmp(location.file, call->file) != 0 &&
        strcmp(location.file, outermost) != 0;
}

/* Whether the function of `place` stands between the nodes, called from there. */
static bool is_between(const struct wp_cause_case *of, uint32_t place, uint32_t caller, const uint32_t ends[2])
{
    const struct wp_flame_node *nodes = of->facts->flame.nodes;
    for (uint32_t at = ends[0]; at && at != ends[1]; at = nodes[at].parent)
        if (of->causes->locations[at] == at && nodes[at].frame == nodes[of->causes->locations[place]].frame) {
            uint32_t found = wp_code_location_caller(of->facts, of->causes->locations, at);
            if (found && nodes[found].frame == nodes[caller].frame)
                return true;
        }
    return false;
}

/* The cause's time in which that place is called from there: by its own layer, or by those above it. */
static uint64_t time_of(const struct wp_cause_case *of, uint32_t place, uint32_t caller, bool is_above)
{
    const struct wp_flame *flame = &of->facts->flame;
    uint64_t ns = 0;
    for (uint32_t i = 0; i < flame->cell_count; i++) {
        uint32_t sleep = of->causes->cell_sleep[i];
        const uint32_t above[2] = {flame->cells[i].node, sleep}, own[2] = {sleep, 0};
        if (of->causes->cell_cause[i] == of->row + 1 && is_between(of, place, caller, is_above ? above : own))
            ns += flame->cells[i].ns;
    }
    return ns;
}

/* Who is told as calling there, by the node of its place; 0: nobody. */
static uint32_t told_caller(const struct wp_cause_case *of, uint32_t place, bool is_above, uint64_t ns)
{
    uint32_t caller = wp_code_location_caller(of->facts, of->causes->locations, place);
    if (!caller || wp_code_location_is_entry(wp_facts_frame_name(of->facts, of->facts->flame.nodes[caller].frame)))
        return 0;
    struct wp_code_location call = wp_code_location_call(of->facts, caller, place);
    bool is_told = is_helper(of, place, &call) && wp_cause_caller_has_most(time_of(of, place, caller, is_above), ns);
    return is_told ? caller : 0;
}

static const char *text_of(const struct wp_cause_case *of, uint32_t place, bool is_above, uint64_t ns)
{
    uint32_t caller = told_caller(of, place, is_above, ns);
    if (!caller)
        return "";
    struct wp_code_location call = wp_code_location_call(of->facts, caller, place);
    return wp_pool_printf(&of->facts->pool, ", called from %s", wp_code_location_text(&of->facts->pool, &call));
}

uint32_t wp_caller_told(const struct wp_cause_case *of)
{
    return told_caller(of, of->cause->sleep, false, of->cause->ns);
}

const char *wp_caller_text(const struct wp_cause_case *of)
{
    return text_of(of, of->cause->sleep, false, of->cause->ns);
}

const char *wp_caller_of_holder_text(const struct wp_cause_case *of)
{
    return of->held.node ? text_of(of, of->held.node, true, of->held.ns) : "";
}
