/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_H
#define WP_REPORTER_PAGE_PAGE_H
/* Page builders: facts -> display. A new page is a kind in page_id.h and a builder page_*.c; the formatters never learn
 * of it. */
#include "common/error.h"
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* Whether there is such a page of these facts alone, as one file: not of a comparison, nor of several parts, nor one
 * that would have nothing to show. */
bool wp_page_is_of_facts(enum wp_page_kind page, const struct wp_facts *facts);
/* Any page of one aggregate, by display->page_id.page. Out of memory: -ENOMEM. */
int wp_page_build(struct wp_display *display, const struct wp_facts *facts, struct wp_error *err);

#endif
