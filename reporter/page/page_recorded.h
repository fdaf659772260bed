/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_RECORDED_H
#define WP_REPORTER_PAGE_PAGE_RECORDED_H
/* What was run: command, workload, exit status and resources of the newest recording, and its machine. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* A heading and a table; nothing where no recording told anything. */
void wp_page_recorded(struct wp_display *display, const struct wp_facts *facts);

#endif
