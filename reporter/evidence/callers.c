/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/evidence/callers.h"

#include "storage/report/report_read.h"

#include <string.h>

uint32_t *wp_callers_build(struct wp_pool *pool, const struct wp_facts *facts, const uint32_t *locations)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    uint32_t frames;
    wp_report_frames(facts->report, &frames);
    uint32_t *callers = wp_pool_alloc(pool, (frames + 1u) * sizeof(*callers));
    for (uint32_t i = 1; callers && locations && i < facts->flame.count; i++) {
        uint32_t caller = locations[i] == i ? wp_code_location_caller(facts, locations, i) : 0;
        if (!caller || nodes[i].frame >= frames)
            continue;
        uint32_t *of = &callers[nodes[i].frame];
        *of = !*of || *of == nodes[caller].frame ? nodes[caller].frame : WP_CALLERS_SEVERAL;
    }
    return callers;
}
