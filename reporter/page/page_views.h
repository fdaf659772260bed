/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_VIEWS_H
#define WP_REPORTER_PAGE_PAGE_VIEWS_H
/* The drawn views: flame, chronology, running. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* The flame as a drawn view and as a table. Out of memory: display->pool.failed. */
void wp_page_flame(struct wp_display *display, const struct wp_facts *facts);
/* The beginning of the newest recording, by control path. Out of memory: display->pool.failed. */
void wp_page_chrono(struct wp_display *display, const struct wp_facts *facts);
/* The same window, by thread. Out of memory: display->pool.failed. */
void wp_page_running(struct wp_display *display, const struct wp_facts *facts);

#endif
