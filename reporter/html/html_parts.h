/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_HTML_HTML_PARTS_H
#define WP_REPORTER_HTML_HTML_PARTS_H
/* Tables and charts of an HTML page; used by format_html.c alone. */
#include "reporter/display/display.h"

/* The address of a link, seen from the page it stands on, escaped. */
void wp_html_href(struct wp_buffer *out, enum wp_page_kind from, const struct wp_link *link);
void wp_html_table(struct wp_buffer *out, enum wp_page_kind from, const struct wp_table *table);
/* The category bar; a part is labelled when it is wide enough. `link` (may be unset): where a part leads to. */
void wp_html_bar(struct wp_buffer *out, enum wp_page_kind from, const uint64_t *parts, const struct wp_link *link,
    bool small);
/* A line over the points, oldest first, with a dot at each one that says what it is. */
void wp_html_trend(struct wp_buffer *out, const struct wp_point *points, size_t count, const char *label);
/* A column a bucket, the categories piled in it; `link` (may be unset): where a column leads to, with its time. */
void wp_html_over_time(struct wp_buffer *out, enum wp_page_kind from, const struct wp_over_time *timeline, const struct wp_link *link);
/* Boxes in columns, by how many arrows they are away from the first; arrows as wide as their weight. */
void wp_html_graph(struct wp_buffer *out, enum wp_page_kind from, const struct wp_graph *graph, const char *label);
/* Source text beside its times. */
void wp_html_listing(struct wp_buffer *out, enum wp_page_kind from, const struct wp_listing *listing, const char *label);
/* How many took how long; slow ones in another colour. */
void wp_html_latency(struct wp_buffer *out, const struct wp_latency_column *columns, size_t count, const char *label);
/* Cumulative percent explained (RSP paper, figure of the evaluation). */
void wp_html_curve(struct wp_buffer *out, const uint64_t *parts);

#endif
