/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/evidence/path_label.h"

#include <string.h>

static const char *name_at(const struct wp_facts *facts, uint32_t node)
{
    return node ? wp_facts_frame_name(facts, facts->flame.nodes[node].frame) : "";
}

static uint32_t style_at(const struct wp_facts *facts, uint32_t node)
{
    return node ? wp_facts_frame_style(facts, facts->flame.nodes[node].frame) : 0;
}

bool wp_path_label_is_answer(const struct wp_facts *facts, uint32_t node)
{
    uint32_t below = facts->flame.nodes[node].parent;
    if (style_at(facts, below) == WP_STYLE_WAIT && !strncmp(name_at(facts, below), "for:", 4))
        below = facts->flame.nodes[below].parent;
    const char *name = name_at(facts, below), *host = strchr(name, ':'), *port = strrchr(name, ':');
    return style_at(facts, node) == WP_STYLE_WAIT && !strncmp(name_at(facts, node), "path:", 5) &&
        style_at(facts, below) == WP_STYLE_NET && host != port && host[1] != ':' && strcmp(port, ":*") != 0;
}
