/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/stack_text.h"

#include "storage/report/report_read.h"

#include <stdbool.h>
#include <string.h>

#define SHOWN_OUTER 4u
#define SHOWN_INNER 10u
#define NAME_BYTES 120u
#define HOST_BYTES 60u
#define FUNCTION_BYTES 60u

static uint32_t depth_of(const struct wp_node *nodes, uint32_t count, uint32_t node)
{
    uint32_t depth = 0;
    for (; node && node < count; node = nodes[node].parent)
        depth++;
    return depth;
}

const char *wp_stack_text(struct wp_pool *pool, const struct wp_facts *facts, uint32_t node)
{
    uint32_t count;
    const struct wp_node *nodes = wp_report_nodes(facts->report, &count);
    uint32_t depth = depth_of(nodes, count, node), left_out = 0;
    const char *text = "";
    for (uint32_t at = depth; node && node < count; node = nodes[node].parent, at--) {
        if (at > SHOWN_OUTER && depth - at >= SHOWN_INNER) {
            left_out++;
            continue;
        }
        if (left_out) {
            text = wp_pool_printf(pool, "… %u more … › %s", left_out, text);
            left_out = 0;
        }
        const char *name = wp_pool_clip(pool, wp_facts_frame_name(facts, nodes[node].frame), NAME_BYTES);
        text = *text ? wp_pool_printf(pool, "%s › %s", name, text) : name;
    }
    return text;
}

const char *wp_stack_top(const struct wp_facts *facts, uint32_t node)
{
    uint32_t count, last = node;
    const struct wp_node *nodes = wp_report_nodes(facts->report, &count);
    for (; node && node < count; node = nodes[node].parent) {
        uint32_t style = wp_facts_frame_style(facts, nodes[node].frame);
        if (style == WP_STYLE_USER)
            return wp_facts_frame_name(facts, nodes[node].frame);
        if (style == WP_STYLE_PROCESS)
            break;
    }
    return last && last < count ? wp_facts_frame_name(facts, nodes[last].frame) : "";
}

const char *wp_stack_process(const struct wp_facts *facts, uint32_t node)
{
    uint32_t count;
    const struct wp_node *nodes = wp_report_nodes(facts->report, &count);
    for (; node && node < count; node = nodes[node].parent)
        if (wp_facts_frame_style(facts, nodes[node].frame) == WP_STYLE_PROCESS)
            return wp_facts_frame_name(facts, nodes[node].frame);
    return "";
}

/* Where the "]@" before a host is; NULL: there is none. */
static const char *end_of_named(const char *name)
{
    const char *end = NULL;
    for (const char *at = strstr(name, "]@"); at; at = strstr(at + 1, "]@"))
        end = at; /* the last one: a process may be named anything */
    bool is_alone = name[0] == '[' && name[strlen(name) - 1] == ']' && name[1] && name[2];
    return !is_alone && end && name[0] == '[' && end > name + 1 && end[2] ? end : NULL;
}

const char *wp_stack_host(struct wp_pool *pool, const char *name)
{
    const char *end = end_of_named(name);
    return end ? wp_pool_clip(pool, end + 2, HOST_BYTES) : NULL;
}

/* Wakepath's own programs, of whose names the kernel keeps 15 bytes. */
static const char *whole_name(const char *text, size_t size)
{
    static const char *const names[] = {"wakepath-aggregator", "wakepath-collector", "wakepath-reporter"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (size == 15 && !strncmp(text, names[i], size))
            return names[i];
    return NULL;
}

/* Clipped, without blanks at its end: the kernel's cut of 15 bytes may leave one ("process reaper "). */
static const char *comm_text(struct wp_pool *pool, const char *text, size_t size)
{
    const char *whole = whole_name(text, size);
    if (whole)
        return whole;
    while (size > 1 && text[size - 1] == ' ')
        size--;
    return wp_pool_clip(pool, wp_pool_printf(pool, "%.*s", (int)size, text), 40);
}

const char *wp_stack_plain_process(struct wp_pool *pool, const char *name)
{
    size_t size = strlen(name);
    const char *host = end_of_named(name);
    if (size > 2 && name[0] == '[' && name[size - 1] == ']')
        return comm_text(pool, name + 1, size - 2);
    if (host)
        return wp_pool_printf(pool, "%s on %s", comm_text(pool, name + 1, (size_t)(host - name - 1)),
            wp_pool_clip(pool, host + 2, HOST_BYTES));
    return wp_pool_clip(pool, name, 40);
}

const char *wp_stack_plain_function(struct wp_pool *pool, const char *name)
{
    const char *end = *name == '[' ? strchr(name, ']') : NULL;
    if (!end || end[1])
        return wp_pool_clip(pool, name, FUNCTION_BYTES);
    const char *file = wp_pool_printf(pool, "%.*s", (int)(end - name - 1), name + 1);
    return wp_pool_printf(pool, "%s (no symbols)", wp_pool_clip(pool, file, FUNCTION_BYTES));
}
