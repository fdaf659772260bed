/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sentences/cause_chain.h"

#include "reporter/facts/stack_text.h"
#include "reporter/evidence/cause_lock.h"
#include "reporter/sentences/cause_who.h"
#include "reporter/sentences/running_text.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LAYERS 4u /* that are named */

static uint32_t style_at(const struct wp_facts *facts, uint32_t node)
{
    return node ? wp_facts_frame_style(facts, facts->flame.nodes[node].frame) : 0;
}

/* The processes of the layers that stand on the sleep: the lowest first, those beyond `most` left out. Their number. */
static unsigned layers_of(const struct wp_facts *facts, uint32_t node, uint32_t sleep, uint32_t *layers, unsigned most)
{
    unsigned count = 0, at_layer = 0;
    for (uint32_t at = node; at && at != sleep; at = facts->flame.nodes[at].parent)
        count += style_at(facts, at) == WP_STYLE_PROCESS;
    for (uint32_t at = node; at && at != sleep; at = facts->flame.nodes[at].parent) {
        bool is_layer = style_at(facts, at) == WP_STYLE_PROCESS;
        if (is_layer && count - 1 - at_layer < most)
            layers[count - 1 - at_layer] = at;
        at_layer += is_layer;
    }
    return count;
}

/* The sleep that the layer of that process stands on. */
static uint32_t sleep_below(const struct wp_facts *facts, uint32_t process)
{
    uint32_t at = facts->flame.nodes[process].parent;
    while (at && style_at(facts, at) != WP_STYLE_SLEEP && style_at(facts, at) != WP_STYLE_PROCESS)
        at = facts->flame.nodes[at].parent;
    return style_at(facts, at) == WP_STYLE_SLEEP ? at : 0;
}

static uint32_t last_process(const struct wp_facts *facts, uint32_t node)
{
    while (node && style_at(facts, node) != WP_STYLE_PROCESS)
        node = facts->flame.nodes[node].parent;
    return node;
}

/* Of the one that runs at the end of most of the time: its cell with most, UINT32_MAX none. *is_its, by cell: it is of
 * that one. */
static uint32_t find_end(const struct wp_cause_case *of, bool *is_its)
{
    const struct wp_flame *flame = &of->facts->flame;
    uint32_t frames, best = 0, most = UINT32_MAX, layers[2];
    wp_report_frames(of->facts->report, &frames);
    uint64_t *sums = calloc(frames + 1u, sizeof(*sums));
    of->facts->pool.failed |= !sums;
    for (uint32_t i = 0; sums && i < flame->cell_count; i++) {
        uint32_t node = flame->cells[i].node, end = flame->nodes[last_process(of->facts, node)].frame;
        is_its[i] = of->causes->cell_cause[i] == of->row + 1 &&
            layers_of(of->facts, node, of->causes->cell_sleep[i], layers, 2) > 1;
        sums[end] += is_its[i] ? flame->cells[i].ns : 0;
        best = sums[end] > sums[best] ? end : best;
    }
    bool is_most = sums && sums[best] >= of->cause->ns / 2;
    free(sums);
    for (uint32_t i = 0; is_most && best && i < flame->cell_count; i++) {
        is_its[i] = is_its[i] && flame->nodes[last_process(of->facts, flame->cells[i].node)].frame == best;
        if (is_its[i] && (most == UINT32_MAX || flame->cells[i].ns > flame->cells[most].ns))
            most = i;
    }
    return most;
}

/* Whether who stands below that layer asks it: over a socket or pipe, or for its end. */
static bool is_asked(const struct wp_facts *facts, uint32_t process)
{
    return wp_cause_is_asking(facts, sleep_below(facts, process)) ||
        style_at(facts, facts->flame.nodes[process].parent) == WP_STYLE_NET;
}

/* "gzip", "another python3", "another of its threads". */
static const char *name_of(const struct wp_cause_case *of, uint32_t process)
{
    const struct wp_flame_node *nodes = of->facts->flame.nodes;
    bool is_met = nodes[process].frame == nodes[of->cause->base].frame;
    for (uint32_t at = nodes[process].parent; at && at != of->cause->sleep; at = nodes[at].parent)
        is_met = is_met || nodes[at].frame == nodes[process].frame;
    const char *name = wp_cause_process_text(of, process);
    if (!is_met)
        return name;
    return is_asked(of->facts, process) ? wp_pool_printf(&of->facts->pool, "another %s", name)
                                        : "another of its threads";
}

/* " in `render_invoice` (invoice.c:2)" of a layer's sleep; "" of one that may be for anything, as a server's loop. */
static const char *place_of(const struct wp_cause_case *of, uint32_t sleep)
{
    static const char *const loops[] = {
        "poll", "ppoll", "select", "pselect6", "epoll_wait", "epoll_pwait", "epoll_pwait2"};
    const char *call;
    size_t size = wp_cause_call(of->facts, sleep, &call);
    for (size_t i = 0; i < sizeof(loops) / sizeof(*loops); i++)
        if (size == strlen(loops[i]) && !strncmp(call, loops[i], size))
            return "";
    return wp_cause_is_own_function(of->facts, of->causes->locations[sleep]) ? wp_cause_location_text(of, sleep) : "";
}

const char *wp_cause_chain_text(const struct wp_cause_case *of)
{
    struct wp_facts *facts = of->facts;
    uint32_t layers[MOST_LAYERS];
    bool *is_its = of->cause->kind == WP_CAUSE_KIND_SERVICE ? calloc(facts->flame.cell_count + 1u, 1) : NULL;
    facts->pool.failed |= !is_its && of->cause->kind == WP_CAUSE_KIND_SERVICE;
    uint32_t end = is_its ? find_end(of, is_its) : UINT32_MAX;
    unsigned count = end == UINT32_MAX
        ? 0
        : layers_of(facts, facts->flame.cells[end].node, of->causes->cell_sleep[end], layers, MOST_LAYERS);
    if (count && !is_asked(facts, layers[1])) /* where it waits for another of its threads, says more */
        count = 0;
    const char *text = "; that one";
    for (unsigned i = 1; i < count && count <= MOST_LAYERS; i++)
        text = wp_pool_printf(&facts->pool, "%s%s waits%s for %s", text, i > 1 ? ", which" : "",
            place_of(of, sleep_below(facts, layers[i])), name_of(of, layers[i]));
    if (count > MOST_LAYERS)
        text = wp_pool_printf(&facts->pool, "; that one waits, over others, for %s",
            name_of(of, last_process(facts, facts->flame.cells[end].node)));
    const char *function = count ? wp_running_function(of->causes, facts, is_its) : NULL;
    free(is_its);
    if (!count)
        return "";
    return function ? wp_pool_printf(&facts->pool, "%s, which runs its own code, first of all in %s", text, function)
                    : wp_pool_printf(&facts->pool, "%s, which runs", text);
}

bool wp_cause_chain_is_of_client(const struct wp_cause_case *of, uint32_t first)
{
    const struct wp_flame *flame = &of->facts->flame;
    uint64_t ns = 0;
    for (uint32_t i = 0; i < flame->cell_count; i++) {
        uint32_t layers[2], node = flame->cells[i].node;
        if (of->causes->cell_cause[i] != of->row + 1 || layers_of(of->facts, node, first, layers, 2) < 2)
            continue;
        uint32_t below = flame->nodes[layers[1]].parent;
        const char *name = wp_facts_frame_name(of->facts, flame->nodes[below].frame), *colon = strrchr(name, ':');
        ns += style_at(of->facts, below) == WP_STYLE_NET && colon && !strcmp(colon, ":*") ? flame->cells[i].ns : 0;
    }
    return ns >= of->cause->ns / 2 && ns;
}
