/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_WINDOW_H
#define WP_REPORTER_PAGE_PAGE_WINDOW_H
/* The drawn view of a window. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"
#include "storage/report/trace.h"

/* A drawn view: "flame", "difference", "chronology" or "running", with its script. */
void wp_page_add_view(struct wp_display *display, const char *view);

/* The drawn view of a window, stacks over time or threads, and its table. */
void wp_page_window(
    struct wp_display *display, const struct wp_facts *facts, const struct wp_trace *trace, bool is_stacks);

#endif
