/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/caller_text.h"

#include "reporter/findings/caller_up.h"
#include "reporter/findings/cause_callers.h"

#include <string.h>

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
    bool is_told = wp_caller_is_helper(of->causes, of->facts, place) &&
        wp_cause_caller_has_most(time_of(of, place, caller, is_above), ns);
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

/* Whether the thread whose layer that node is on top of sleeps. */
static bool is_asleep(const struct wp_facts *facts, uint32_t node)
{
    uint32_t style = 0;
    for (; node && style != WP_STYLE_PROCESS && style != WP_STYLE_SLEEP; node = facts->flame.nodes[node].parent)
        style = wp_facts_frame_style(facts, facts->flame.nodes[node].frame);
    return style == WP_STYLE_SLEEP;
}

/* The cause's time in which layers above its sleep run what the holder runs; where its stacks do not have that, all of
 * the flame's. */
static void add_running(struct wp_caller_sums *sums, const struct wp_cause_case *of)
{
    const struct wp_flame *flame = &of->facts->flame;
    const uint32_t *locations = of->causes->locations;
    uint32_t frame = flame->nodes[locations[of->held.node]].frame;
    for (uint32_t i = 0; i < flame->cell_count; i++) {
        uint32_t at = of->causes->cell_cause[i] == of->row + 1 ? flame->cells[i].node : 0;
        while (at && at != of->causes->cell_sleep[i] && (locations[at] != at || flame->nodes[at].frame != frame))
            at = flame->nodes[at].parent;
        if (at && at != of->causes->cell_sleep[i])
            wp_caller_sums_add(sums, &flame->cells[i], at);
    }
    bool has_none = !sums->pieces;
    for (uint32_t i = 0; has_none && i < flame->cell_count; i++) {
        const struct wp_cell *cell = &flame->cells[i];
        uint32_t place = locations[cell->node];
        if (place && cell->category == WP_UNDERSTOOD_FUNCTIONS && flame->nodes[place].frame == frame)
            wp_caller_sums_add(sums, cell, cell->node);
    }
}

const char *wp_caller_of_holder_text(const struct wp_cause_case *of)
{
    uint32_t node = of->held.node;
    if (!node || is_asleep(of->facts, node))
        return node ? text_of(of, node, true, of->held.ns) : "";
    if (!of->causes->locations[node])
        return "";
    struct wp_caller_sums sums;
    wp_caller_sums_init(&sums, of->causes, of->facts);
    add_running(&sums, of);
    uint32_t caller = wp_caller_up(&sums, node);
    wp_caller_sums_fini(&sums);
    const struct wp_flame_node *nodes = of->facts->flame.nodes;
    uint32_t waits = of->causes->locations[of->cause->sleep];
    if (!caller || (waits && nodes[caller].frame == nodes[waits].frame)) /* which the sentence has */
        return "";
    struct wp_code_location call = wp_code_location_call(of->facts, caller, node);
    return wp_pool_printf(&of->facts->pool, ", called from %s", wp_code_location_text(&of->facts->pool, &call));
}
