/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_PARTS_H
#define WP_REPORTER_PAGE_PAGE_PARTS_H
/* Pages in parts that come from the calls and waits of an aggregate: callers and callees, then cycles. */
#include "reporter/code/calls.h"
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"
#include "reporter/waits/wait_graph.h"

struct wp_page_parts {
    const struct wp_facts *facts; /* borrowed */
    struct wp_calls calls;
    struct wp_wait_graph waits; /* in the pool */
    struct wp_pool pool;
};

/* -ENOMEM. */
int wp_page_parts_build(struct wp_page_parts *parts, const struct wp_facts *facts, struct wp_error *err);
/* Frees calls and pool, not the facts; zeroed parts are allowed. */
void wp_page_parts_fini(struct wp_page_parts *parts);
/* How many pages there are. */
unsigned wp_page_parts_count(const struct wp_page_parts *parts);
/* Page `number`, from 1; says in the display which page and part it is. */
int wp_page_parts_page(
    struct wp_display *display, const struct wp_page_parts *parts, unsigned number, struct wp_error *err);

#endif
