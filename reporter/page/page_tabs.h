/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_TABS_H
#define WP_REPORTER_PAGE_PAGE_TABS_H
/* What stands above every page of an aggregate: what was recorded, and its tabs. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* The subject and the tabs of the display, which has its context. */
void wp_page_tabs(struct wp_display *display, const struct wp_facts *facts);

#endif
