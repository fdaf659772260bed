/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DATA_VIEW_DATA_H
#define WP_REPORTER_DATA_VIEW_DATA_H
/*
 * What the drawn views read: scripts that hand one compact object to wakepath.data (a page opened from a disk may load
 * scripts, but not fetch files). Columns of integers, one a row of what they speak of; frames as [style, name, object]
 * and names once each; times in ns; `categories` is [[key, title]...]. The flame: nodes without the root in preorder
 * (depth, frame, link = permalink), cells in the order of their nodes (cell_node as the step from the one before).
 * Windows are in window/window_data.h.
 */
#include "reporter/compare/compare.h"

/* Appends the script of the facts' flame, under the name "flame". -ENOMEM. */
int wp_view_data_flame(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);
/* The window that the facts have (facts->trace must be there), under the name "trace". -ENOMEM. */
int wp_view_data_trace(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);

/* The flames of both sides, the newer as "compare", the older as "older", with two more columns, the root in them: was
 * (what the node takes on the other side, at this one's units) and mark (enum wp_verdict), by node; own, before: names
 * of this side and of the other one. */
int wp_view_data_compare(
    struct wp_buffer *out, const struct wp_facts *facts, const struct wp_compare *compare, struct wp_error *err);

#endif
