/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_BEHIND_H
#define WP_REPORTER_PAGE_PAGE_BEHIND_H
/* What stands behind a figure (assets/behind.js). */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* What stands behind a figure (behind.js): "key=value", or a node of the flame. */
struct wp_link wp_page_behind_link(
    struct wp_display *display, const struct wp_facts *facts, const char *key, const char *value);
/* Link of a function within its object file; kernel functions share one file. */
struct wp_link wp_page_behind_function(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_function_fact *function);
/* Link of a flame's node; permalink 0 gives no link. */
struct wp_link wp_page_behind_node(struct wp_display *display, const struct wp_facts *facts, uint32_t permalink);
/* The page itself, which a script fills; hosts and times are there without it. Out of memory: display->pool.failed. */
void wp_page_behind(struct wp_display *display, const struct wp_facts *facts);

#endif
