/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_HTML_FORMAT_HTML_H
#define WP_REPORTER_HTML_FORMAT_HTML_H
/*
 * A display as one HTML page. Everything a reader needs stands in the page itself; scripts (from the site's own assets
 * folder) draw the views and sort the tables. A content security policy forbids every request to another place.
 */
#include "common/error.h"
#include "reporter/display/display.h"

/* Appends the page to `out`. -ENOMEM. */
int wp_format_html(struct wp_buffer *out, const struct wp_display *display, struct wp_error *err);

#endif
