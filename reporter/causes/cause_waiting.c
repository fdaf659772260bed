/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/cause_waiting.h"

#include "reporter/evidence/callers.h"
#include "reporter/evidence/cause_lock.h"
#include "reporter/evidence/wrappers.h"
#include "storage/report/report_read.h"

#include <stdlib.h>

static uint32_t style_at(const struct wp_facts *facts, uint32_t node)
{
    return node ? wp_facts_frame_style(facts, facts->flame.nodes[node].frame) : 0;
}

static uint32_t process_of(const struct wp_facts *facts, uint32_t node)
{
    while (node && style_at(facts, node) != WP_STYLE_PROCESS)
        node = facts->flame.nodes[node].parent;
    return node;
}

/* The next sleep outwards, which the node stands on; 0 none. */
static uint32_t sleep_below(const struct wp_facts *facts, uint32_t node)
{
    while (node && style_at(facts, node) != WP_STYLE_SLEEP)
        node = facts->flame.nodes[node].parent;
    return node;
}

/* Of one pseudo-stack. A place in the program is preferred to one in a library further in. */
static uint32_t waiting_at(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t base, uint32_t sleep)
{
    uint32_t at = sleep_below(facts, process_of(facts, sleep)), in_library = 0;
    while (at) {
        struct wp_cause_fact layer = {.base = base, .process = process_of(facts, at)};
        bool is_wrapper = wp_wrapper_is_for_child(facts, at) && wp_wrapper_is_name(facts, layer.process);
        if (causes->locations[at] && wp_cause_is_own(facts, &layer) && !is_wrapper) {
            if (wp_cause_is_own_function(facts, causes->locations[at]))
                return at;
            in_library = in_library ? in_library : at;
        }
        at = sleep_below(facts, layer.process);
    }
    return in_library;
}

/* Of all cells of a cause: the time of the functions that are waited in. */
struct waiting {
    uint64_t *ns;      /* by frame */
    uint32_t *largest; /* by frame: cell + 1 */
    uint32_t frames, best;
};

static void add_cell(struct waiting *w, const struct wp_flame *flame, uint32_t frame, uint32_t cell)
{
    w->ns[frame] += flame->cells[cell].ns;
    if (!w->largest[frame] || flame->cells[cell].ns > flame->cells[w->largest[frame] - 1].ns)
        w->largest[frame] = cell + 1;
    if (w->best == w->frames || w->ns[frame] > w->ns[w->best])
        w->best = frame;
}

uint32_t wp_cause_waiting(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row, uint64_t *ns)
{
    const struct wp_flame *flame = &facts->flame;
    struct waiting w = {0};
    wp_report_frames(facts->report, &w.frames);
    w.best = w.frames;
    w.ns = calloc(w.frames + 1u, sizeof(*w.ns));
    w.largest = calloc(w.frames + 1u, sizeof(*w.largest));
    facts->pool.failed |= !w.ns || !w.largest;
    uint32_t base = causes->rows[row].base, found = 0;
    for (uint32_t i = 0; !facts->pool.failed && i < flame->cell_count; i++) {
        uint32_t at = causes->cell_cause[i] == row + 1 ? waiting_at(causes, facts, base, causes->cell_sleep[i]) : 0;
        uint32_t frame = at ? flame->nodes[causes->locations[at]].frame : w.frames;
        if (frame < w.frames)
            add_cell(&w, flame, frame, i);
    }
    *ns = 0;
    if (!facts->pool.failed && w.best < w.frames) {
        *ns = w.ns[w.best];
        found = waiting_at(causes, facts, base, causes->cell_sleep[w.largest[w.best] - 1]);
    }
    free(w.ns);
    free(w.largest);
    return found;
}

uint32_t wp_cause_waiting_outer(
    const struct wp_causes *causes, const struct wp_facts *facts, uint32_t base, uint32_t waiting)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    uint32_t layer = process_of(facts, waiting), inner = causes->locations[waiting], outer = 0;
    if (causes->is_asked[base] ? causes->is_asked_inside[layer] : causes->is_asked[layer])
        return 0;
    for (uint32_t at = sleep_below(facts, layer); at; at = sleep_below(facts, process_of(facts, at))) {
        uint32_t place = causes->locations[at];
        struct wp_cause_fact own = {.base = base, .process = process_of(facts, at)};
        if (place && wp_cause_is_own(facts, &own) && wp_cause_is_own_function(facts, place))
            outer = at;
    }
    uint32_t frame = outer ? nodes[causes->locations[outer]].frame : 0;
    return outer && frame != nodes[inner].frame && !wp_code_location_is_entry(wp_facts_frame_name(facts, frame)) ? outer
                                                                                                                 : 0;
}
