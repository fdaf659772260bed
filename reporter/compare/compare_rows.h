/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_ROWS_H
#define WP_REPORTER_COMPARE_COMPARE_ROWS_H
/*
 * The rows of a comparison before they are tested: both reports under one tree, and the time of each row on both sides
 * by bucket. Used by compare.c alone.
 */
#include "reporter/compare/compare_types.h"

/* One side of a comparison, mapped to the common tree. */
struct wp_compare_operand {
    const struct wp_report *report;
    const struct wp_cell *cells;
    const struct wp_cell_sample *samples;
    uint32_t cell_count, sample_count, buckets;
    uint32_t *node;   /* report node -> node of the common tree */
    uint32_t *place;  /* sample -> bucket's place */
    double *activity; /* by bucket, ns */
};

/* Nodes of both reports by content: ids of `tree` (a report that holds a tree and no time). */
struct wp_compare_tree {
    struct wp_report *tree;
    struct wp_compare_operand operand[2];
    uint32_t *hop;      /* by node: id of the chain of processes in `names`, 0 none */
    uint32_t *process;  /* by node: frame of the process it stands in, 0 none */
    uint32_t *function; /* by node: frame of the innermost function of its layer that is not the scheduler's, 0 none */
    uint8_t *layer;     /* by node: 0 no process yet, 1 the process of interest, 2 above it */
    uint8_t *waits;     /* by node: for what, as compare_idle.c has it */
    uint32_t *place[2]; /* by node: place in that side's flame of it (the largest one, where names differ by chance), or
                         of the nearest node below that is there */
    struct wp_intern *names;
    uint32_t count, frame_count;
    bool is_by_request; /* parts of rows are without what is idle, */
    uint32_t *apart;    /* ... and without these: by hop, bits of categories that are mostly in no request; NULL none */
};

/* Time of rows on both sides; rows by number, in no order. */
struct wp_row_sums {
    uint64_t *ns[2], *count[2], *idle_ns[2]; /* idle: of ns (compare_idle.h) */
    double *parts[2];                        /* row * buckets + place */
    double *request[2];                      /* by row, ns a request; NULL: by another unit */
    double *apart[2];                        /* of that: what parts are without, */
    double *apart_variance[2];               /* ... and the variance of that */
    uint32_t rows;
};

/* Borrows the reports until fini. -ENOMEM; then the tree is zeroed and needs no fini. */
int wp_compare_tree_init(struct wp_compare_tree *tree, const struct wp_facts *before, const struct wp_facts *after);
/* Frees the common tree and its maps; a zeroed tree is allowed. */
void wp_compare_tree_fini(struct wp_compare_tree *tree);
/* Which row a cell belongs to; UINT32_MAX none. */
typedef uint32_t (*wp_row_of)(void *context, uint32_t node, uint32_t category);
/* Sums cells and samples of both sides into rows 0 to `rows` - 1; calls row_of once a cell. -ENOMEM; then the sums are
 * zeroed and need no fini. */
int wp_row_sums_init(
    struct wp_row_sums *sums, const struct wp_compare_tree *tree, uint32_t rows, wp_row_of row_of, void *context);
/* Frees the sums of both sides; zeroed sums are allowed. */
void wp_row_sums_fini(struct wp_row_sums *sums);

#endif
