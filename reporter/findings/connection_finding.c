/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/findings/connection_finding.h"

#include "reporter/display/humanize.h"
#include "reporter/facts/ask_counts.h"
#include "reporter/facts/stack_text.h"
#include "reporter/causes/new_connections.h"
#include "reporter/findings/pattern.h"

#include <string.h>

/* The outermost layer of that process, 0 none. */
static uint32_t base_of(const struct wp_facts *facts, const char *who)
{
    for (uint32_t i = 1; i < facts->flame.count; i++)
        if (!facts->flame.nodes[i].parent &&
            wp_facts_frame_style(facts, facts->flame.nodes[i].frame) == WP_STYLE_PROCESS &&
            wp_ask_counts_is_of(facts, i, who))
            return i;
    return 0;
}

bool wp_connection_finding(struct wp_facts *facts, struct wp_finding *found)
{
    const struct wp_ask_fact *most = NULL;
    struct wp_pattern pattern = {.key = WP_NEW_CONNECTIONS, .title = WP_NEW_CONNECTIONS_TITLE};
    for (size_t i = 0; i < facts->finding_count; i++)
        if (facts->findings[i].pattern.key && !strcmp(facts->findings[i].pattern.key, WP_NEW_CONNECTIONS))
            return false;
    for (size_t i = 0; i < facts->ask_count; i++)
        most = !most || facts->asks[i].opens > most->opens ? &facts->asks[i] : most;
    uint32_t base = most ? base_of(facts, most->who) : 0;
    if (!base || !wp_new_connections(facts, base, most->peer, &pattern))
        return false;
    uint64_t ns = wp_new_connections_handshake_ns(facts);
    *found = (struct wp_finding){.kind = "connections",
        .sentence = wp_pool_printf(&facts->pool, "%s opens %s to %s.%s",
            wp_stack_plain_process(&facts->pool, wp_facts_frame_name(facts, facts->flame.nodes[base].frame)),
            wp_human_many(&facts->pool, most->opens, "connection"), wp_pool_clip(&facts->pool, most->peer, 80),
            wp_pattern_text(&facts->pool, &pattern)),
        .key = wp_pool_printf(&facts->pool, "connections %s", most->peer),
        .pattern = pattern,
        .count = most->opens,
        .ns = ns,
        .rank_ns = ns,
        .page = WP_PAGE_TRANSACTIONS};
    return true;
}
