/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CODE_CYCLE_H
#define WP_REPORTER_CODE_CYCLE_H
/*
 * One cycle of functions that call each other, or of processes that wait for each other (a clique of mdprof): the links
 * between its members, over all stacks and in each context. A context is a stack up to the first member on it. Time
 * counts once a link and stack, however often a stack goes round.
 */
#include "reporter/facts/facts.h"

#define WP_CYCLE_LINKS 200u   /* of a cycle; the largest */
#define WP_CYCLE_CONTEXTS 20u /* the largest */

/* Whose cycle it is. */
struct wp_cycle_members {
    const bool *is_member; /* by frame of the report */
    bool of_processes;     /* a link leads from a process to the next one on the stack; else from a frame to the next */
};

struct wp_cycle_link {
    uint32_t from, to; /* frames */
    uint64_t ns;
};

/* Contexts that begin with the same frames are one. */
struct wp_cycle_context {
    uint32_t node;               /* of the flame: the member that the stack enters by */
    uint64_t ns;                 /* on it; of processes as far as it waits for another member */
    struct wp_cycle_link *links; /* the largest first, those of `cycle` that it has */
    uint32_t link_count;
};

struct wp_cycle {
    uint64_t ns; /* on any stack, counted once each: the sum of all contexts */
    struct wp_cycle_link *links;
    struct wp_cycle_context *contexts;
    uint32_t link_count, context_count;
    uint32_t links_left_out, contexts_left_out;
};

/* Everything in `pool`; out of memory shows in pool->failed. */
void wp_cycle_build(
    struct wp_cycle *cycle, struct wp_pool *pool, const struct wp_facts *facts, const struct wp_cycle_members *members);

#endif
