/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_HTML_HTML_STRIP_H
#define WP_REPORTER_HTML_HTML_STRIP_H
/* The critical path as one strip: above who was on top, below what it did. */
#include "reporter/display/display.h"
#include "reporter/requests/critical_path.h"

/* Each part leads to `link` with its interval in the address. */
void wp_html_strip(
    struct wp_buffer *out, enum wp_page_kind from, const struct wp_critical_path *path, const struct wp_link *link);

#endif
