/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_CALLER_UP_H
#define WP_REPORTER_CAUSES_CALLER_UP_H
/* For which function of the program a function works: the nearest one that calls it and is no mere helper. */
#include "reporter/causes/causes.h"

/* Of the time of a function: how much of it each function of the program has on its stack. End with
 * wp_caller_sums_fini. */
struct wp_caller_sums {
    const struct wp_causes *causes;
    struct wp_facts *facts;
    uint64_t *ns;   /* owned; by frame */
    uint32_t *last; /* owned; by frame: the last piece that it was met in */
    uint32_t frames, pieces;
    uint64_t all_ns;
};

/* Out of memory sets facts->pool.failed. */
void wp_caller_sums_init(struct wp_caller_sums *sums, const struct wp_causes *causes, struct wp_facts *facts);
/* Also of what was not made; zeroed. */
void wp_caller_sums_fini(struct wp_caller_sums *sums);
/* A piece of the time, of the layer that `node` stands in. */
void wp_caller_sums_add(struct wp_caller_sums *sums, const struct wp_cell *cell, uint32_t node);
/* The node of that function of the program, which has four fifths of the time, by the place of `node`; 0: there is
 * none, or it says no more, as where a thread or the program begins. */
uint32_t wp_caller_up(const struct wp_caller_sums *sums, uint32_t node);
/* Whether its caller tells more than the function at that place: several call it, or it lies in a file of helpers. */
bool wp_caller_is_helper(const struct wp_causes *causes, const struct wp_facts *facts, uint32_t place);

#endif
