/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/base/components.h"

#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

struct search {
    uint32_t *first, *targets; /* targets[first[n]..first[n+1]) are where the arcs of n lead */
    uint32_t *next;            /* a node's next arc to follow */
    uint32_t *index, *low;     /* order of discovery; the least one reachable */
    uint32_t *path, *caller;   /* Tarjan's stack; who called a node */
    uint32_t *component;
    uint32_t discovered, depth, found;
};

static void enter(struct search *search, uint32_t node, uint32_t caller)
{
    search->index[node] = search->low[node] = search->discovered++;
    search->next[node] = search->first[node];
    search->caller[node] = caller;
    search->path[search->depth++] = node;
}

static void leave(struct search *search, uint32_t node)
{
    if (search->low[node] == search->index[node]) {
        uint32_t member;
        do {
            member = search->path[--search->depth];
            search->component[member] = search->found;
        } while (member != node);
        search->found++;
    }
    uint32_t caller = search->caller[node];
    if (caller != NONE && search->low[node] < search->low[caller])
        search->low[caller] = search->low[node];
}

static void visit(struct search *search, uint32_t root)
{
    enter(search, root, NONE);
    for (uint32_t node = root; node != NONE;) {
        if (search->next[node] == search->first[node + 1]) {
            leave(search, node);
            node = search->caller[node];
            continue;
        }
        uint32_t to = search->targets[search->next[node]++];
        if (search->index[to] == NONE) {
            enter(search, to, node);
            node = to;
        } else if (search->component[to] == NONE && search->index[to] < search->low[node]) {
            search->low[node] = search->index[to];
        }
    }
}

static void fill(struct search *search, const struct wp_arc *arcs, size_t arc_count, uint32_t count)
{
    for (size_t i = 0; i < arc_count; i++)
        search->first[arcs[i].from + 1]++;
    for (uint32_t i = 0; i < count; i++)
        search->first[i + 1] += search->first[i];
    for (uint32_t i = 0; i < count; i++) {
        search->next[i] = search->first[i];
        search->index[i] = search->component[i] = NONE;
    }
    for (size_t i = 0; i < arc_count; i++)
        search->targets[search->next[arcs[i].from]++] = arcs[i].to;
}

int wp_components(const struct wp_arc *arcs, size_t arc_count, uint32_t count, uint32_t *component)
{
    struct search search = {.component = component};
    uint32_t *block = calloc((size_t)count * 6 + 1 + arc_count, sizeof(*block));
    if (!block)
        return -ENOMEM;
    search.first = block;
    search.next = search.first + count + 1;
    search.index = search.next + count;
    search.low = search.index + count;
    search.path = search.low + count;
    search.caller = search.path + count;
    search.targets = search.caller + count;
    fill(&search, arcs, arc_count, count);
    for (uint32_t i = 0; i < count; i++)
        if (search.index[i] == NONE)
            visit(&search, i);
    free(block);
    return 0;
}
