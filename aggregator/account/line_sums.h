/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_LINE_SUMS_H
#define WP_AGGREGATOR_ACCOUNT_LINE_SUMS_H
/*
 * Time by line of source, of one aggregate since its last delta. A piece adds to the node that it stands on, and
 * nothing more; when the delta is closed the sums go down the tree, once a node, and to the report's sites and calls.
 * Nodes under which no function has a line cost a look at one byte.
 */
#include "aggregator/explain/pathtree.h"

#include <stdbool.h>

#define WP_LINE_SITES 65536u /* of one delta; more are left out, and counted */

/* What is known of one node of the tree. */
struct wp_line_node {
    uint32_t row; /* + 1 of the sums, 0: none */
    uint8_t flags;
};

/* Time that stands on one node, by what the thread did. */
struct wp_line_sum {
    uint64_t total_ns[WP_CATEGORIES];
    uint64_t run_ns, self_ns; /* of WP_UNDERSTOOD_FUNCTIONS */
    /* Of an interpreter's function on a script's: of all that and of the run, what is said of what it called in turn.
     */
    uint64_t through_ns, through_run_ns;
};

/* Zeroed: none. */
struct wp_line_sums {
    struct wp_line_node *nodes; /* by node of the tree; owned */
    uint32_t node_count, node_room;
    struct wp_line_sum *rows; /* owned */
    uint32_t *row_node;       /* owned */
    uint32_t row_count, row_room, row_node_room;
    uint32_t *frame_site; /* by frame of the tree: site in the report + 1, 0 none; owned */
    uint32_t frame_room, site_count;
    uint64_t left_out, left_out_ns; /* sites that did not fit, and their time */
};

/* Frees the sums, flushed or not, and zeroes them; zeroed is allowed. */
void wp_line_sums_fini(struct wp_line_sums *sums);
/* Forgets what was not flushed, and which sites the report has. */
void wp_line_sums_clear(struct wp_line_sums *sums);
/* So much time stands on the node; `is_run`: on a CPU. Out of memory: the time has no lines. */
void wp_line_sums_add(struct wp_line_sums *sums, const struct wp_pathtree *tree, uint32_t node,
    enum wp_category category, uint64_t ns, bool is_run);
/* What was added since the last time goes to the report, always the same one until wp_line_sums_clear. */
void wp_line_sums_flush(struct wp_line_sums *sums, const struct wp_pathtree *tree, struct wp_report *report);

#endif
