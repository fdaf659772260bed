/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CODE_CALLS_H
#define WP_REPORTER_CODE_CALLS_H
/*
 * Who calls whom, from the flame: callers and callees of each function with the time that went through the call.
 * Functions that call each other in a circle are a clique (after mdprof): a stack enters it once, however it goes round
 * inside, so the times of the callers outside of it add up to the inclusive time, and own time and callees outside of
 * it likewise.
 */
#include "reporter/facts/facts.h"

#include <stdbool.h>

/* A caller and a callee; times in ns. */
struct wp_call {
    uint32_t from, to;  /* frames; `from` 0: the stack begins there */
    uint64_t caller_ns; /* of `to`, seen from it: the stacks that entered its clique here */
    uint64_t callee_ns; /* of `from`, seen from it */
    uint64_t inside_ns; /* within a clique: on any stack, counted once each; the others are 0 then */
    uint32_t permalink; /* of the flame's node that holds most of it */
    uint64_t largest_ns;
};

/* Functions that call each other in a circle. */
struct wp_clique {
    const char *name; /* "visit, walk" */
    uint32_t members; /* 1: calls itself */
    uint64_t ns;      /* on any stack, counted once each */
    uint32_t entry;   /* the frame that calls into it most */
    uint64_t entry_ns;
};

/* Where a function stands, the outermost on a stack. */
struct wp_call_site {
    uint32_t frame, node; /* node of the flame */
    uint64_t ns;
};

/* Callers and callees of every function of a flame. */
struct wp_calls {
    struct wp_call *calls;      /* by callee, then by caller_ns + inside_ns, descending */
    uint32_t *by_caller;        /* places in calls, by caller, then by callee_ns + inside_ns */
    uint32_t *first_caller;     /* frame -> its first call in calls; one more ends the last */
    uint32_t *first_callee;     /* frame -> its first place in by_caller */
    struct wp_call_site *sites; /* by frame, then by time */
    uint32_t *first_site;
    uint32_t *clique;          /* by frame: place in cliques + 1, 0 none */
    struct wp_clique *cliques; /* most time first */
    uint32_t *rank;            /* frame -> place in facts->functions + 1, 0 none */
    struct wp_pool pool;
    uint32_t call_count, site_count, clique_count, frame_count;
};

/* All owned by `calls`, which looks into the facts. -ENOMEM. */
int wp_calls_build(struct wp_calls *calls, const struct wp_facts *facts, struct wp_error *err);
/* Frees all tables; zeroed calls are allowed. */
void wp_calls_fini(struct wp_calls *calls);

#endif
