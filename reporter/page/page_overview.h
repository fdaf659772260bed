/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_OVERVIEW_H
#define WP_REPORTER_PAGE_PAGE_OVERVIEW_H
/* The overview of an aggregate, and the same for a mail or a terminal. */
#include "common/error.h"
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* A mail or terminal digest: findings, categories, the largest processes, functions and unexplained waits. */
int wp_page_digest(struct wp_display *display, const struct wp_facts *facts, struct wp_error *err);
/* The overview; sets the subtitle, too. Out of memory: display->pool.failed. */
void wp_page_overview(struct wp_display *display, const struct wp_facts *facts);

#endif
