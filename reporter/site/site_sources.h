/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SITE_SITE_SOURCES_H
#define WP_REPORTER_SITE_SITE_SOURCES_H
/* The pages of source files of one aggregate: fetches the texts, then makes a page of each. */
#include "reporter/display/display.h"
#include "reporter/facts/facts.h"
#include "reporter/source/source_text.h"

/* Calls `write` for each file that has a page, and returns what it returns unless 0; the display is valid during the
 * call. Files whose text was not found get a page, too. -ENOMEM. */
int wp_site_sources(const struct wp_facts *facts, const struct wp_snapshot *snapshot,
    const struct wp_source_options *options,
    int (*write)(void *context, const struct wp_display *display, struct wp_error *err), void *context,
    struct wp_error *err);

#endif
