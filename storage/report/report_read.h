/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_READ_H
#define WP_STORAGE_REPORT_REPORT_READ_H
/* What is in a report: sums and arrays of rows. */
#include "storage/report/report.h"

/* Nanoseconds in which the process of interest was active: the spans, which do not overlap, added up. */
uint64_t wp_report_wall(const struct wp_report *report);
/* Nanoseconds of all cells; goes through all of them at each call, and saturates at UINT64_MAX. */
uint64_t wp_report_total(const struct wp_report *report);
/* The same of one category. */
uint64_t wp_report_category(const struct wp_report *report, enum wp_category category);
/* What wp_report_uncertain added, part of the total. */
uint64_t wp_report_uncertain_ns(const struct wp_report *report);
/* What wp_report_detached added, no part of the total. */
uint64_t wp_report_detached_ns(const struct wp_report *report);
/* The work itself; NULL: there is none, or it was only counted. */
const struct wp_report *wp_report_detached_work(const struct wp_report *report);
double wp_report_coverage(const struct wp_report *report); /* 0..1; 1 for an empty report */
/* Ends with NUL; "" for an id out of range. Valid until the report gets another string. */
const char *wp_report_text(const struct wp_report *report, uint32_t string);
const struct wp_frame_info *wp_report_frames(const struct wp_report *report, uint32_t *count); /* [0] is unused */
/* Here and below: borrowed until the report is added to, merged into, cleared or destroyed; other arrays than this one
 * may be NULL where *count is 0. */
const struct wp_node *wp_report_nodes(
    const struct wp_report *report, uint32_t *count); /* [0] is the root; parents first */
/* In no order; at most one row a node and category. */
const struct wp_cell *wp_report_cells(const struct wp_report *report, uint32_t *count);
/* By index of wp_report_process. */
const struct wp_report_process *wp_report_processes(const struct wp_report *report, uint32_t *count);
/* The WP_REPORT_UNEXPLAINED largest, largest first. Sorts on first use: not for two threads at once. */
const struct wp_unexplained *wp_report_unexplained_rows(const struct wp_report *report, uint32_t *count);
/* Ascending and apart: two that touch are one. */
const struct wp_span *wp_report_spans(const struct wp_report *report, uint32_t *count);
const uint32_t *wp_report_hosts(const struct wp_report *report, uint32_t *count); /* string ids */
/* In no order, one row a kind. */
const struct wp_event_count *wp_report_event_counts(const struct wp_report *report, uint32_t *count);
/* In no order, one row a name. */
const struct wp_limit_count *wp_report_limits(const struct wp_report *report, uint32_t *count);
/* In no order, one row a pair of hosts and direction. */
const struct wp_report_edge *wp_report_edges(const struct wp_report *report, uint32_t *count);

#endif
