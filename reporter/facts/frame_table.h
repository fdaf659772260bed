/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_FRAME_TABLE_H
#define WP_REPORTER_FACTS_FRAME_TABLE_H
/*
 * The frames that a flame uses, numbered from 0 in the order of their first use: the numbers follow from the flame
 * alone, not from how the report was built. Read-only once built.
 */
#include "reporter/facts/facts.h"

/* Frame ids to numbers and back. */
struct wp_frame_table {
    uint32_t *numbers; /* owned; by frame id of the report: number + 1, 0 not used */
    uint32_t *frames;  /* owned; number -> frame id */
    uint32_t count;
};

/* -ENOMEM. */
int wp_frame_table_build(struct wp_frame_table *table, const struct wp_facts *facts, struct wp_error *err);
/* Frees both maps; a zeroed table is allowed. */
void wp_frame_table_fini(struct wp_frame_table *table);

/*
 * The cells of a flame one by one, each with the nodes that it stands on: what every format of stacks walks over.
 * while (wp_stack_walk_next(&walk)) ... ; one that is out of memory has `failed` set and gives none.
 */
struct wp_stack_walk {
    const struct wp_flame *flame;
    uint32_t *stack; /* owned; nodes from the outermost to the innermost */
    uint32_t depth;
    const struct wp_cell *cell;
    uint32_t node, next;
    bool failed;
};

/* Borrows the flame. End with wp_stack_walk_fini, also when `failed` is set. */
void wp_stack_walk_init(struct wp_stack_walk *walk, const struct wp_flame *flame);
/* Sets `cell` and stack[0 .. depth - 1] to the next cell and its nodes, valid until the next call. False at the end. */
bool wp_stack_walk_next(struct wp_stack_walk *walk);
/* Frees the stack of nodes. */
void wp_stack_walk_fini(struct wp_stack_walk *walk);

#endif
