/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_CALLS_H
#define WP_REPORTER_PAGE_PAGE_CALLS_H
/* Callers and callees of functions. */
#include "common/error.h"
#include "reporter/code/calls.h"
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* Callers and callees of some functions, and how many such pages there are: the functions that hold little have none.
 */
int wp_page_function(struct wp_display *display, const struct wp_facts *facts, const struct wp_calls *calls,
    unsigned part, struct wp_error *err);
/* How many parts there are, counted from 1; 0 when no function holds enough time. */
unsigned wp_page_function_parts(const struct wp_facts *facts);

#endif
