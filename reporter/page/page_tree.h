/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_TREE_H
#define WP_REPORTER_PAGE_PAGE_TREE_H
/* Who forked and executed whom, when, and how it ended. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* A row a process, children below their parent. Out of memory: display->pool.failed. */
void wp_page_tree(struct wp_display *display, const struct wp_facts *facts);
/* A link to the row of the process at this place of the tree. */
struct wp_link wp_page_tree_link(struct wp_display *display, const struct wp_facts *facts, size_t row);

#endif
