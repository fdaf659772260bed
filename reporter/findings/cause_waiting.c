/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/cause_waiting.h"

#include "reporter/findings/cause_lock.h"
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
        if (causes->locations[at] && wp_cause_is_own(facts, &layer)) {
            if (wp_cause_is_own_function(facts, causes->locations[at]))
                return at;
            in_library = in_library ? in_library : at;
        }
        at = sleep_below(facts, layer.process);
    }
    return in_library;
}

uint32_t wp_cause_waiting(const struct wp_causes *causes, struct wp_facts *facts, uint32_t row, uint64_t *ns)
{
    const struct wp_flame *flame = &facts->flame;
    uint32_t frames, best = 0;
    wp_report_frames(facts->report, &frames);
    uint64_t *sums = calloc(frames + 1u, sizeof(*sums)), most = 0;
    facts->pool.failed |= !sums;
    for (uint32_t i = 0; sums && i < flame->cell_count; i++) {
        uint32_t at = causes->cell_cause[i] == row + 1
            ? waiting_at(causes, facts, causes->rows[row].base, causes->cell_sleep[i])
            : 0;
        uint32_t frame = at ? flame->nodes[causes->locations[at]].frame : frames;
        if (frame >= frames)
            continue;
        sums[frame] += flame->cells[i].ns;
        if (sums[frame] > most) {
            most = sums[frame];
            best = at;
        }
    }
    free(sums);
    *ns = most;
    return best;
}
