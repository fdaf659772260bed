/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_ROWS_H
#define WP_STORAGE_REPORT_REPORT_ROWS_H
/* Adding to the rows of a report by ids of its own strings and nodes; what report.h offers stands on it, and so do
 * merging and decoding. */
#include "storage/report/report_body.h"

/* wp_report_add, and which cell it was; WP_NO_CELL when it failed. */
uint32_t wp_report_cell_add(
    struct wp_report *report, uint32_t node, enum wp_category category, uint64_t ns, uint64_t count);
/* Row adders by id of a string of this report; the public ones stand on them. */
uint32_t wp_report_process_row(struct wp_report *report, const struct wp_report_process *key);
/* Adds to the row of the node and reason; its longest wait stays the longest of both. Here and below what cannot be
 * added is lost, and wp_report_failed says so. */
void wp_report_unexplained_add(struct wp_report *report, const struct wp_unexplained *row);
/* As wp_report_host. */
void wp_report_host_add(struct wp_report *report, uint32_t string);
/* As wp_report_events. */
void wp_report_event_add(struct wp_report *report, const struct wp_event_count *row);
/* As wp_report_limit. */
void wp_report_limit_add(struct wp_report *report, const struct wp_limit_count *row);
/* Adds the sums and takes the larger of maxima; a row of no messages is left out. */
void wp_report_edge_add(struct wp_report *report, const struct wp_report_edge *row);
/* The report's tree for wp_tree_*, borrowed. A node made by it has no list of cells: wp_report_child makes nodes. */
struct wp_tree_rows wp_report_tree(struct wp_report *report);

#endif
