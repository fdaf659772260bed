/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_WAITS_H
#define WP_REPORTER_PAGE_PAGE_WAITS_H
/* Who waits for whom. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

void wp_page_waits(struct wp_display *display, const struct wp_facts *facts);

#endif
