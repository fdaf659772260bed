/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_HOSTS_H
#define WP_REPORTER_PAGE_PAGE_HOSTS_H
/* The hosts of an aggregate, or of a release. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"
#include "reporter/recording/hosts.h"

/* A table of each host's kernel, machine, collector, labels and losses, at most 2000 rows. Out of memory:
 * display->pool.failed. */
void wp_page_host_identities(struct wp_display *display, const struct wp_hosts *hosts);
/* A table of how each host's clock compares with the others', at most 2000 rows. Out of memory:
 * display->pool.failed. */
void wp_page_host_clocks(struct wp_display *display, const struct wp_hosts *hosts);
/* The page of an aggregate: both tables, its hosts' time and who waited for whom. Out of memory:
 * display->pool.failed. */
void wp_page_hosts(struct wp_display *display, const struct wp_facts *facts);

#endif
