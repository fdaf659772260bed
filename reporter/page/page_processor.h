/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_PROCESSOR_H
#define WP_REPORTER_PAGE_PAGE_PROCESSOR_H
/* Who had the processor while others could have run. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* Adds the page; out of memory shows in display->pool.failed. */
void wp_page_processor(struct wp_display *display, const struct wp_facts *facts);

#endif
