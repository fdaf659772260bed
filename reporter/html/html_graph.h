/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_HTML_HTML_GRAPH_H
#define WP_REPORTER_HTML_HTML_GRAPH_H
/* A graph of boxes and arrows, drawn. */
#include "common/buffer.h"
#include "reporter/display/display.h"
#include "reporter/display/page_id.h"

/* Boxes in columns, by how many arrows they are away from the first; arrows as wide as their weight. */
void wp_html_graph(struct wp_buffer *out, enum wp_page_kind from, const struct wp_graph *graph, const char *label);

#endif
