/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_FLAME_TREE_H
#define WP_REPORTER_FACTS_FLAME_TREE_H
/*
 * The consolidated flame of a report: its pseudo-stacks as one tree in which siblings stand by descending duration
 * (RSP paper, 4.3; equal durations by name, so that the order never depends on how the report was built), written out
 * in preorder. Nodes without time are left out. Read-only once built.
 */
#include "storage/report/report.h"

/* A node of the flame; `nodes` is in preorder. */
struct wp_flame_node {
    uint32_t parent;    /* index here; the root's is 0 */
    uint32_t end;       /* one past the last node below it */
    uint32_t source;    /* node id in the report */
    uint32_t frame;     /* frame id in the report; 0 at the root */
    uint32_t depth;     /* the root's is 0 */
    uint32_t permalink; /* hash of the names from the root to here: stays when the data grows */
    uint32_t cell;      /* its first own cell in wp_flame.cells */
    uint32_t cell_count;
    uint64_t total_ns; /* with all below */
    uint64_t self_ns;
};

/* A flame in preorder, with the map from the report's nodes to its own. */
struct wp_flame {
    struct wp_flame_node *nodes; /* owned; [0] is the root */
    struct wp_cell *cells;       /* owned; by node, then category; wp_cell.node is the index here */
    uint32_t *by_source;         /* owned; report node -> index here, 0 when left out */
    uint32_t count, cell_count, source_count;
};

/* 0, -ENOMEM or -EINVAL (a report whose ids contradict each other). */
int wp_flame_build(struct wp_flame *flame, const struct wp_report *report, struct wp_error *err);
/* Frees nodes, cells and map; a zeroed flame is allowed. */
void wp_flame_fini(struct wp_flame *flame);

#endif
