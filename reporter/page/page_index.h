/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_PAGE_PAGE_INDEX_H
#define WP_REPORTER_PAGE_PAGE_INDEX_H
/* The first page of the site, and the page of a release. */
#include "common/error.h"
#include "reporter/display/display.h"
#include "reporter/page/site_summary.h"
#include "reporter/recording/release_facts.h"

/* facts NULL: of a release that cannot be read. */
int wp_page_release(struct wp_display *display, const struct wp_release_summary *release,
    const struct wp_release_facts *facts, struct wp_error *err);
/* The first page: trends and a card a release. -ENOMEM. */
int wp_page_index(struct wp_display *display, const struct wp_site_summary *site, struct wp_error *err);

#endif
