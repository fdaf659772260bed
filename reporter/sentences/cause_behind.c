/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/sentences/cause_behind.h"

#include "reporter/facts/stack_text.h"
#include "reporter/evidence/cause_lock.h"

const char *wp_cause_behind_text(const struct wp_cause_case *of)
{
    struct wp_facts *facts = of->facts;
    const char *text = "", *lock = NULL;
    for (uint32_t at = of->cause->node; at; at = facts->flame.nodes[at].parent) {
        uint32_t frame = facts->flame.nodes[at].frame, style = wp_facts_frame_style(facts, frame);
        if (style == WP_STYLE_SLEEP && at != of->cause->sleep)
            lock = wp_cause_database_lock(facts, at);
        if (style != WP_STYLE_PROCESS)
            continue;
        if (lock)
            text = wp_pool_printf(&facts->pool, ", behind a %s of %s,", lock,
                wp_stack_plain_process(&facts->pool, wp_facts_frame_name(facts, frame)));
        lock = NULL;
    }
    return text;
}
