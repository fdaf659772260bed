/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/evidence/cause_pool.h"

#include "reporter/evidence/cause_lock.h"
#include "reporter/evidence/waker_trace.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

#define ENOUGH_WAKINGS 8u /* in the window: one of them shows that a thread gives back, if any does */

static uint32_t style_at(const struct wp_facts *facts, uint32_t node)
{
    return node ? wp_facts_frame_style(facts, facts->flame.nodes[node].frame) : 0;
}

/* The sleep for a semaphore with a name that the layer of that function stands on; 0 none. */
static uint32_t semaphore_below(const struct wp_facts *facts, uint32_t function)
{
    const char *call;
    uint32_t at = function;
    while (at && style_at(facts, at) != WP_STYLE_PROCESS)
        at = facts->flame.nodes[at].parent;
    at = facts->flame.nodes[at].parent;
    while (at && style_at(facts, at) != WP_STYLE_SLEEP && style_at(facts, at) != WP_STYLE_PROCESS)
        at = facts->flame.nodes[at].parent;
    size_t size = at ? wp_cause_call(facts, at, &call) : 0;
    return size && call[size] && wp_cause_is_semaphore(facts, at) ? at : 0;
}

void wp_cause_pools_build(struct wp_facts *facts)
{
    const struct wp_flame *flame = &facts->flame;
    uint32_t frames;
    wp_report_frames(facts->report, &frames);
    bool *is_pool = wp_pool_alloc(&facts->pool, (frames + 1u) * sizeof(*is_pool));
    bool *is_seen = calloc(frames + 1u, sizeof(*is_seen));
    facts->pool.failed |= !is_pool || !is_seen;
    facts->is_pool = NULL;
    for (uint32_t i = 1; i < flame->count && !facts->pool.failed; i++) {
        uint32_t sleep =
            style_at(facts, i) == WP_STYLE_USER && wp_cause_is_own_function(facts, i) ? semaphore_below(facts, i) : 0;
        uint32_t frame = flame->nodes[sleep].frame;
        if (!sleep || frame >= frames || is_pool[frame])
            continue;
        is_seen[frame] = true;
        is_pool[frame] = wp_code_location_is_one(wp_facts_frame_name(facts, flame->nodes[i].frame)) &&
            wp_cause_is_called_by(facts, sleep, i);
    }
    for (uint32_t frame = 0; frame < frames && !facts->pool.failed; frame++) {
        uint64_t wakings;
        if (!is_seen[frame])
            continue;
        bool is_returned = wp_waker_trace_is_returned(facts, wp_facts_frame_name(facts, frame), &wakings);
        is_pool[frame] = is_returned || (is_pool[frame] && wakings < ENOUGH_WAKINGS);
    }
    free(is_seen);
    if (!facts->pool.failed)
        facts->is_pool = is_pool;
}
