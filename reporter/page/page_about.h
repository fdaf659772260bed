/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_ABOUT_H
#define WP_REPORTER_PAGE_PAGE_ABOUT_H
/* About this data: what was recorded, lost and limited. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* Out of memory: display->pool.failed, as in every builder without a result. */
void wp_page_about(struct wp_display *display, const struct wp_facts *facts);

#endif
