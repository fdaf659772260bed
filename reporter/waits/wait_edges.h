/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_WAITS_WAIT_EDGES_H
#define WP_REPORTER_WAITS_WAIT_EDGES_H
/*
 * Who waited for whom, from the flame: a process frame and what stood on it, the next process or else the end of the
 * explanation (a disk, a peer, a timer, the scheduler, a sleep that nothing explains). Time counts once an edge and
 * stack, and in every edge of the stack: the edges of one waiter can be added up, those of a chain cannot.
 */
#include "reporter/facts/facts.h"

/* A waiter and whom it waited for. */
struct wp_wait_edge {
    uint32_t waiter, target; /* frame ids of the report */
    uint64_t ns, count;
};

/* All edges of a flame. */
struct wp_wait_edges {
    struct wp_wait_edge *rows; /* owned; the longest first */
    size_t count;
};

/* -ENOMEM. */
int wp_wait_edges_build(struct wp_wait_edges *edges, const struct wp_facts *facts, struct wp_error *err);
/* Frees the rows; zeroed edges are allowed. */
void wp_wait_edges_fini(struct wp_wait_edges *edges);
/* "process", "disk", "network", "scheduler", "sleep" or "other": what a target is. */
const char *wp_wait_kind(uint32_t style);

#endif
