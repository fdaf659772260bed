/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/code/cycle.h"

#include "common/intmap.h"
#include "storage/report/report_read.h"

#include <stdlib.h>
#include <string.h>

struct maker {
    const struct wp_facts *facts;
    const struct wp_cycle_members *members;
    struct wp_intmap index;      /* (from, to) -> place in links */
    struct wp_cycle_link *links; /* owned */
    uint32_t *open;              /* owned; by link: how often it is on the stack in hand */
    uint32_t *link_of;           /* owned; by node of the flame: link + 1 that leads to it, 0 none */
    uint32_t count, room;
    bool failed;
};

/* The frame that a link to this node would come from; 0: none. */
static uint32_t frame_below(const struct maker *maker, uint32_t node)
{
    const struct wp_flame_node *nodes = maker->facts->flame.nodes;
    uint32_t at = nodes[node].parent;
    while (
        at && maker->members->of_processes && wp_facts_frame_style(maker->facts, nodes[at].frame) != WP_STYLE_PROCESS)
        at = nodes[at].parent;
    return nodes[at].frame;
}

/* Which link leads to each node. Rows never move: there is room for one a node. */
static void number_links(struct maker *maker)
{
    const struct wp_flame *flame = &maker->facts->flame;
    for (uint32_t i = 1; i < flame->count && !maker->failed; i++) {
        uint32_t to = flame->nodes[i].frame, from = maker->members->is_member[to] ? frame_below(maker, i) : 0, link;
        struct wp_intkey key = {from, to};
        if (!from || !maker->members->is_member[from])
            continue;
        if (!wp_intmap_get(&maker->index, key, &link)) {
            link = maker->count++;
            maker->links[link] = (struct wp_cycle_link){from, to, 0};
            maker->failed |= wp_intmap_put(&maker->index, key, link) != 0;
        }
        maker->link_of[i] = link + 1;
    }
}

/* Adds the time of the links in a part of the flame. Preorder with closing, so that a stack counts once a link. */
static void add_links(struct maker *maker, uint32_t first, uint32_t end)
{
    const struct wp_flame_node *nodes = maker->facts->flame.nodes;
    uint32_t top = 0;
    for (uint32_t i = first; i < end; i++) {
        for (; top && nodes[top].end <= i; top = top == first ? 0 : nodes[top].parent)
            if (maker->link_of[top] && top != first)
                maker->open[maker->link_of[top] - 1]--;
        top = i;
        uint32_t link = i == first ? 0 : maker->link_of[i];
        if (link && !maker->open[link - 1]++)
            maker->links[link - 1].ns += nodes[i].total_ns;
    }
    memset(maker->open, 0, (maker->count + (size_t)1) * sizeof(*maker->open));
}

static int by_time(const void *left, const void *right)
{
    const struct wp_cycle_link *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    return a->to < b->to ? -1 : a->to > b->to;
}

/* The links that have time, and forgets it. */
static struct wp_cycle_link *copy_links(struct maker *maker, struct wp_pool *pool, uint32_t *count, uint32_t *left_out)
{
    struct wp_cycle_link *rows = calloc(maker->count + (size_t)1, sizeof(*rows)), *kept = NULL;
    *count = 0;
    for (uint32_t i = 0; rows && i < maker->count; i++) {
        if (maker->links[i].ns)
            rows[(*count)++] = maker->links[i];
        maker->links[i].ns = 0;
    }
    if (rows && *count)
        qsort(rows, *count, sizeof(*rows), by_time);
    *left_out = *count > WP_CYCLE_LINKS ? *count - WP_CYCLE_LINKS : 0;
    *count -= *left_out;
    if (rows)
        kept = wp_pool_alloc(pool, (*count + (size_t)1) * sizeof(*kept));
    if (kept)
        memcpy(kept, rows, *count * sizeof(*kept));
    else
        *count = 0;
    maker->failed |= !rows;
    free(rows);
    return kept;
}

static int by_context_time(const void *left, const void *right)
{
    const struct wp_cycle_context *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Of functions all that stands on the member; of processes the part of it that another member is waited for. */
static uint64_t time_of(const struct maker *maker, uint32_t node)
{
    const struct wp_flame_node *nodes = maker->facts->flame.nodes;
    uint64_t ns = 0;
    if (!maker->members->of_processes)
        return nodes[node].total_ns;
    for (uint32_t i = node + 1; i < nodes[node].end;) {
        ns += maker->link_of[i] ? nodes[i].total_ns : 0;
        i = maker->link_of[i] ? nodes[i].end : i + 1;
    }
    return ns;
}

/* The outermost members of all stacks: what is below one is in its context. */
static void find_contexts(struct wp_cycle *cycle, struct wp_pool *pool, struct maker *maker)
{
    const struct wp_flame *flame = &maker->facts->flame;
    struct wp_cycle_context *all = calloc(flame->count + (size_t)1, sizeof(*all));
    uint32_t count = 0;
    maker->failed |= !all;
    for (uint32_t i = 1; all && i < flame->count;) {
        if (!maker->members->is_member[flame->nodes[i].frame]) {
            i++;
            continue;
        }
        all[count] = (struct wp_cycle_context){.node = i, .ns = time_of(maker, i)};
        cycle->ns += all[count].ns;
        count += all[count].ns > 0;
        i = flame->nodes[i].end;
    }
    if (count)
        qsort(all, count, sizeof(*all), by_context_time);
    cycle->contexts_left_out = count > WP_CYCLE_CONTEXTS ? count - WP_CYCLE_CONTEXTS : 0;
    cycle->context_count = count - cycle->contexts_left_out;
    cycle->contexts = wp_pool_alloc(pool, (cycle->context_count + (size_t)1) * sizeof(*cycle->contexts));
    if (!cycle->contexts || !all)
        cycle->context_count = 0;
    for (uint32_t i = 0; i < cycle->context_count; i++)
        cycle->contexts[i] = all[i];
    free(all);
}

void wp_cycle_build(
    struct wp_cycle *cycle, struct wp_pool *pool, const struct wp_facts *facts, const struct wp_cycle_members *members)
{
    size_t nodes = facts->flame.count + (size_t)1;
    struct maker maker = {.facts = facts,
        .members = members,
        .links = calloc(nodes, sizeof(*maker.links)),
        .open = calloc(nodes, sizeof(*maker.open)),
        .link_of = calloc(nodes, sizeof(*maker.link_of))};
    uint32_t left_out;
    *cycle = (struct wp_cycle){0};
    maker.failed = !maker.links || !maker.open || !maker.link_of;
    if (!maker.failed)
        number_links(&maker);
    if (!maker.failed) {
        add_links(&maker, 0, facts->flame.count);
        cycle->links = copy_links(&maker, pool, &cycle->link_count, &cycle->links_left_out);
        find_contexts(cycle, pool, &maker);
    }
    for (uint32_t i = 0; !maker.failed && i < cycle->context_count; i++) {
        struct wp_cycle_context *context = &cycle->contexts[i];
        add_links(&maker, context->node, facts->flame.nodes[context->node].end);
        context->links = copy_links(&maker, pool, &context->link_count, &left_out);
    }
    pool->failed |= maker.failed;
    wp_intmap_fini(&maker.index);
    free(maker.links);
    free(maker.open);
    free(maker.link_of);
}
