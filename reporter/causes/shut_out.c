/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/causes/shut_out.h"

#include "common/clock.h"
#include "reporter/facts/stack_text.h"
#include "reporter/causes/path_wait.h"

#include <string.h>

/* A request for a connection is sent again after TCP_TIMEOUT_INIT, 1 s (include/net/tcp.h), by a timer with ticks. */
#define AGAIN_NS (990u * (uint64_t)WP_NS_PER_MS)

static uint32_t style_at(const struct wp_facts *facts, uint32_t node)
{
    return node ? wp_facts_frame_style(facts, facts->flame.nodes[node].frame) : 0;
}

/* The connection that the layer, or the path, of that node was asked by, "tcp:10.0.0.7:80"; "" it is none. */
static const char *asked_by(const struct wp_facts *facts, uint32_t node)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    uint32_t at = nodes[node].parent;
    if (style_at(facts, node) != WP_STYLE_PROCESS && !wp_path_wait_whose(facts, node))
        return "";
    while (style_at(facts, at) == WP_STYLE_WAIT)
        at = nodes[at].parent;
    return style_at(facts, at) == WP_STYLE_NET ? wp_facts_frame_name(facts, nodes[at].frame) : "";
}

/* Who answers on such a connection, the name of which has that many bytes; NULL: nobody that is recorded. */
static const char *listener(struct wp_facts *facts, const char *connection, size_t size)
{
    for (uint32_t i = 1; i < facts->flame.count; i++) {
        const char *asked = asked_by(facts, i);
        if (strncmp(asked, connection, size) != 0 || asked[size])
            continue;
        const char *whose = wp_path_wait_whose(facts, i);
        return wp_stack_plain_process(
            &facts->pool, whose ? whose : wp_facts_frame_name(facts, facts->flame.nodes[i].frame));
    }
    return NULL;
}

/* Of a connection that was not taken in time the other end may not be known: "tcp:10.0.0.7:80 (not traced)". */
bool wp_cause_is_shut_out(const struct wp_cause_case *of, const char **by)
{
    const struct wp_cause_fact *cause = of->cause;
    struct wp_facts *facts = of->facts;
    bool is_connect = of->call_size == 7 && !strncmp(of->call, "connect", 7);
    if ((cause->kind != WP_CAUSE_KIND_FLIGHT && cause->kind != WP_CAUSE_KIND_PEER) || !is_connect || !cause->count ||
        cause->ns / cause->count < AGAIN_NS || style_at(facts, cause->node) != WP_STYLE_NET)
        return false;
    const char *name = wp_facts_frame_name(facts, facts->flame.nodes[cause->node].frame);
    const char *who = listener(facts, name, strcspn(name, " "));
    *by = who ? who : "who listens there";
    return who || !strncmp(name, "tcp:127.", 8) || !strncmp(name, "tcp:[::1]", 9);
}
