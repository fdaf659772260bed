/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_HTML_HTML_PARTS_H
#define WP_REPORTER_HTML_HTML_PARTS_H
/* Tables and charts of an HTML page; used by format_html.c alone. */
#include "reporter/display/display.h"

/* A text, escaped; moments ("2026-11-22 20:54:25 UTC") are marked, so that scripts can say them by the reader's clock.
 */
void wp_html_text(struct wp_buffer *out, const char *text);
/* A title; one that the glossary has is explained, and on an aggregate's page leads there. */
void wp_html_term(struct wp_buffer *out, enum wp_page_kind from, const char *title);
/* The address of a link, seen from the page it stands on, escaped. */
void wp_html_href(struct wp_buffer *out, enum wp_page_kind from, const struct wp_link *link);
/* Appends the table; links are relative to page `from`, and a table without rows becomes its text `empty`. Out of
 * memory: out->failed. */
void wp_html_table(struct wp_buffer *out, enum wp_page_kind from, const struct wp_table *table);
/* The category bar; a part is labelled when it is wide enough. `link` (may be unset): where a part leads to. */
void wp_html_bar(
    struct wp_buffer *out, enum wp_page_kind from, const uint64_t *parts, const struct wp_link *link, bool small);
/* A line over the points, oldest first, with a dot at each one that says what it is. */
void wp_html_trend(struct wp_buffer *out, const struct wp_point *points, size_t count, const char *label);

#endif
