/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_RELEASE_H
#define WP_REPORTER_PAGE_PAGE_RELEASE_H
/* What a release holds: sessions, their gaps and costs. */
#include "reporter/display/display.h"
#include "reporter/page/site_summary.h"
#include "reporter/recording/release_facts.h"

/* Appends to the page of a release: aggregates, checks, hosts, metadata, shards. Out of memory:
 * display->pool.failed. */
void wp_page_release_facts(
    struct wp_display *display, const struct wp_release_summary *release, const struct wp_release_facts *facts);

#endif
