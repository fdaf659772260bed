/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/waits/wait_edges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

struct edge {
    struct {
        uint32_t waiter, target;
    } key;
    uint32_t cell; /* the last cell that was counted, + 1 */
    uint64_t ns, count;
    UT_hash_handle hh;
};

const char *wp_wait_kind(uint32_t style)
{
    static const char *const kinds[WP_STYLES] = {[WP_STYLE_PROCESS] = "process",
        [WP_STYLE_SLEEP] = "sleep",
        [WP_STYLE_IO] = "disk",
        [WP_STYLE_NET] = "network",
        [WP_STYLE_SCHED] = "scheduler"};
    return style < WP_STYLES && kinds[style] ? kinds[style] : "other";
}

static int add(struct edge **edges, uint32_t waiter, uint32_t target, const struct wp_cell *cell, uint32_t number)
{
    struct edge probe = {.key = {waiter, target}}, *edge;
    HASH_FIND(hh, *edges, &probe.key, sizeof(probe.key), edge);
    if (!edge) {
        edge = calloc(1, sizeof(*edge));
        if (!edge)
            return -ENOMEM;
        edge->key = probe.key;
        HASH_ADD(hh, *edges, key, sizeof(edge->key), edge);
    }
    if (edge->cell == number) /* a process that waits for its like stands twice on one stack */
        return 0;
    edge->cell = number;
    edge->ns += cell->ns;
    edge->count += cell->count;
    return 0;
}

static int add_cell(struct edge **edges, const struct wp_facts *facts, uint32_t number)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    const struct wp_cell *cell = &facts->flame.cells[number];
    uint32_t top = wp_facts_rival(facts, cell->node), style = wp_facts_frame_style(facts, nodes[top].frame);
    bool is_running = style == WP_STYLE_USER || style == WP_STYLE_KERNEL || style == WP_STYLE_PROCESS;
    uint32_t target = is_running ? 0 : nodes[top].frame;
    int rc = 0;
    for (uint32_t at = top; at && !rc; at = nodes[at].parent) {
        if (wp_facts_frame_style(facts, nodes[at].frame) != WP_STYLE_PROCESS)
            continue;
        if (target)
            rc = add(edges, nodes[at].frame, target, cell, number + 1);
        target = nodes[at].frame;
    }
    return rc;
}

static int compare(const void *left, const void *right, void *context)
{
    const struct wp_wait_edge *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    int rc = strcmp(wp_facts_frame_name(context, a->waiter), wp_facts_frame_name(context, b->waiter));
    rc = rc ? rc : strcmp(wp_facts_frame_name(context, a->target), wp_facts_frame_name(context, b->target));
    if (!rc && a->waiter != b->waiter)
        rc = a->waiter < b->waiter ? -1 : 1;
    return rc ? rc : a->target < b->target ? -1 : a->target > b->target;
}

int wp_wait_edges_build(struct wp_wait_edges *edges, const struct wp_facts *facts, struct wp_error *err)
{
    struct edge *found = NULL, *edge, *next;
    int rc = 0;
    memset(edges, 0, sizeof(*edges));
    for (uint32_t i = 0; i < facts->flame.cell_count && !rc; i++)
        rc = add_cell(&found, facts, i);
    edges->rows = rc ? NULL : calloc(HASH_COUNT(found) + 1, sizeof(*edges->rows));
    HASH_ITER(hh, found, edge, next)
    {
        if (edges->rows)
            edges->rows[edges->count++] =
                (struct wp_wait_edge){edge->key.waiter, edge->key.target, edge->ns, edge->count};
        HASH_DEL(found, edge);
        free(edge);
    }
    if (!edges->rows)
        return wp_error_set(err, -ENOMEM, "out of memory for who waited for whom");
    qsort_r(edges->rows, edges->count, sizeof(*edges->rows), compare, (void *)facts);
    return 0;
}

void wp_wait_edges_fini(struct wp_wait_edges *edges)
{
    free(edges->rows);
    memset(edges, 0, sizeof(*edges));
}
