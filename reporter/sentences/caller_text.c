/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sentences/caller_text.h"

#include "reporter/causes/caller_told.h"
#include "reporter/causes/caller_up.h"

static const char *text_of(const struct wp_cause_case *of, uint32_t place, bool is_above, uint64_t ns)
{
    const struct wp_caller_place at = {.row = of->row, .place = place, .is_above = is_above, .ns = ns};
    uint32_t caller = wp_caller_told(of->causes, of->facts, &at);
    if (!caller)
        return "";
    struct wp_code_location call = wp_code_location_call(of->facts, caller, place);
    return wp_pool_printf(&of->facts->pool, ", called from %s", wp_code_location_text(&of->facts->pool, &call));
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
