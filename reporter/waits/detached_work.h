/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_WAITS_DETACHED_WORK_H
#define WP_REPORTER_WAITS_DETACHED_WORK_H
/*
 * Work that nobody waited for, by who started it: the stacks of facts->detached begin with the starter's process and
 * "starts:" how, and go on with the process that worked; or with one that started the next, and so on.
 */
#include "reporter/facts/facts.h"

/* What one process made another one do. */
struct wp_detached_row {
    const char *starter; /* "make", "api on web-2" */
    const char *through; /* "nohup › sh": whom it started, of whom the last one started the worker; "" it did itself */
    const char *direct;  /* the last of them, or the starter */
    const char *how;     /* "message", "new thread", "waking"; "" not known: how that one started the worker */
    const char *worker;
    const char *mostly; /* the function with most of it on top, "" none */
    uint64_t ns, running_ns, count;
};

/* A stack of it. */
struct wp_detached_stack {
    const char *text; /* from the starter on */
    uint32_t category;
    uint64_t ns, count;
};

/* The work of an aggregate; arrays and texts live in the pool. Most time first. */
struct wp_detached_work {
    struct wp_detached_row *rows;
    struct wp_detached_stack *stacks;
    size_t row_count, stack_count;
};

/* `facts->detached` NULL: empty. Out of memory sets pool->failed. */
struct wp_detached_work wp_detached_work_build(struct wp_pool *pool, const struct wp_facts *facts);

#endif
