/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_MODULES_H
#define WP_REPORTER_PAGE_PAGE_MODULES_H
/* Object files, and the services that were asked. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* Time by object file, and by service. Out of memory: display->pool.failed. */
void wp_page_modules(struct wp_display *display, const struct wp_facts *facts);

#endif
