/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_DETACHED_H
#define WP_REPORTER_PAGE_PAGE_DETACHED_H
/* Work that was started and that nobody waited for. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* Who started what, by category, and the largest stacks. Out of memory: display->pool.failed. */
void wp_page_detached(struct wp_display *display, const struct wp_facts *facts);

#endif
