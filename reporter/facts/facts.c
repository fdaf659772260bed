/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/facts.h"

#include "common/array.h"
#include "common/buffer.h"
#include "reporter/facts/contour.h"
#include "storage/kind/report_store.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <string.h>

void wp_facts_set_contour(struct wp_facts *facts, const struct wp_contour *contour)
{
    struct wp_buffer text = {0};
    if (!contour || !contour->count)
        return;
    wp_contour_text(&text, contour);
    wp_buffer_putc(&text, '\0');
    facts->pool.failed |= text.failed;
    facts->contour = text.failed ? "" : wp_pool_text(&facts->pool, (const char *)text.data);
    wp_buffer_fini(&text);
}

int wp_facts_add_damage(struct wp_facts *facts, const char *key, const char *reason)
{
    if (WP_ARRAY_NEXT(facts->damage, facts->damage_count))
        return -ENOMEM;
    struct wp_damage *row = &facts->damage[facts->damage_count++];
    *row = (struct wp_damage){strdup(key), strdup(reason)};
    return row->key && row->reason ? 0 : -ENOMEM;
}

const char *wp_facts_frame_name(const struct wp_facts *facts, uint32_t frame)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    return frame < count ? wp_report_text(facts->report, frames[frame].name) : "";
}

uint32_t wp_facts_frame_style(const struct wp_facts *facts, uint32_t frame)
{
    uint32_t count;
    const struct wp_frame_info *frames = wp_report_frames(facts->report, &count);
    return frame < count ? frames[frame].style : 0;
}

static bool is_scheduler(const struct wp_facts *facts, uint32_t node)
{
    return wp_facts_frame_style(facts, facts->flame.nodes[node].frame) == WP_STYLE_SCHED;
}

uint32_t wp_facts_below_scheduler(const struct wp_facts *facts, uint32_t node)
{
    while (node && is_scheduler(facts, node))
        node = facts->flame.nodes[node].parent;
    return node;
}

uint32_t wp_facts_rival(const struct wp_facts *facts, uint32_t node)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    bool is_for = is_scheduler(facts, node) && is_scheduler(facts, nodes[node].parent) &&
        is_scheduler(facts, nodes[nodes[node].parent].parent);
    return is_for ? nodes[node].parent : node;
}
