/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_CYCLE_H
#define WP_REPORTER_PAGE_PAGE_CYCLE_H
/* A page for each cycle: functions that call each other, then processes that wait for each other. */
#include "common/error.h"
#include "reporter/code/calls.h"
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"
#include "reporter/waits/wait_graph.h"

#define WP_PAGE_CYCLES_MOST 40u /* of functions, and of processes; the largest */

/* How many pages of functions there are, counted from 1. */
unsigned wp_page_cycles(const struct wp_calls *calls);
/* And of processes. */
unsigned wp_page_wait_cycles(const struct wp_wait_graph *waits);
/* Page `part` of functions: the links of all stacks, then of each context. -EINVAL: there is no such page; -ENOMEM. */
int wp_page_cycle(struct wp_display *display, const struct wp_facts *facts, const struct wp_calls *calls, unsigned part,
    struct wp_error *err);
/* The same of processes. */
int wp_page_wait_cycle(struct wp_display *display, const struct wp_facts *facts, const struct wp_wait_graph *waits,
    unsigned part, struct wp_error *err);

#endif
