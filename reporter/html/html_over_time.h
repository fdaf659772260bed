/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_HTML_HTML_OVER_TIME_H
#define WP_REPORTER_HTML_HTML_OVER_TIME_H
/* The categories over time, drawn. */
#include "common/buffer.h"
#include "reporter/display/display.h"
#include "reporter/display/page_id.h"
#include "reporter/facts/over_time.h"

/* A column a bucket, the categories piled in it; `link` (may be unset): where a column leads to, with its time. */
void wp_html_over_time(
    struct wp_buffer *out, enum wp_page_kind from, const struct wp_over_time *timeline, const struct wp_link *link);

#endif
