/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_TIME_H
#define WP_REPORTER_PAGE_PAGE_TIME_H
/* The categories over time. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* A heading, the categories over time and the same as a table; nothing when all is one moment. */
void wp_page_over_time(struct wp_display *display, const struct wp_facts *facts);

#endif
