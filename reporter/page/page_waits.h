/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_WAITS_H
#define WP_REPORTER_PAGE_PAGE_WAITS_H
/* Who waits for whom. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* Processes, then hosts: graph, circles and table; sets the title. Out of memory: display->pool.failed. */
void wp_page_waits(struct wp_display *display, const struct wp_facts *facts);

#endif
