/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_EXEMPLARS_H
#define WP_REPORTER_PAGE_PAGE_EXEMPLARS_H
/* Windows that can be shown event by event. */
#include "common/error.h"
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* One of facts->exemplars, from 1: WP_PAGE_EXEMPLAR or _ROWS, as display->page_id says. */
int wp_page_exemplar(struct wp_display *display, const struct wp_facts *facts, unsigned number, struct wp_error *err);
/* Link to the page of window `number`, from 1; borrows the names of the facts. */
struct wp_link wp_page_exemplar_link(const struct wp_facts *facts, unsigned number);
/* A table of the windows that Chronology or Running, whichever it is, might show instead. */
void wp_page_other_windows(struct wp_display *display, const struct wp_facts *facts);
/* The list of all windows, or a notice that none was kept. Out of memory: display->pool.failed. */
void wp_page_exemplars(struct wp_display *display, const struct wp_facts *facts);

#endif
