/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_IO_H
#define WP_REPORTER_PAGE_PAGE_IO_H
/* Disks, connections and messages between hosts. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"

/* What is waited for outside of processes: disks, then connections. Out of memory: display->pool.failed. */
void wp_page_io(struct wp_display *display, const struct wp_facts *facts);

#endif
