/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_ORDER_H
#define WP_STORAGE_REPORT_REPORT_ORDER_H
/*
 * The canonical order of a report's content: what is not zero or needed by what is not zero, sorted by content and
 * never by when it came in. Everything is an id of the report by rank, or its rank by id.
 */
#include "storage/report/report_body.h"

/* The ranks of all rows of one report, valid while it is not added to. */
struct wp_report_order {
    uint32_t *strings, *string_rank; /* ranks from 1, ascending by bytes; rank 0 is "" */
    uint32_t *frames, *frame_rank;   /* ranks from 1 */
    uint32_t *nodes, *node_rank;     /* ranks from 1, depth first; rank 0 is the root */
    uint32_t *cells, *processes, *unexplained, *hosts, *events, *limits, *edges, *transactions, *slowest;
    uint32_t *sites, *site_rank; /* ranks from 1 */
    uint32_t *lines, *calls;
    uint32_t string_count, frame_count, node_count; /* ranks in use, 0 not counted */
    uint32_t cell_count, process_count, unexplained_count, host_count, event_count, limit_count, edge_count,
        transaction_count, slowest_count, site_count, line_count, call_count;
    void *block; /* one allocation behind them all */
};

/* -ENOMEM. */
int wp_report_order_init(struct wp_report_order *order, const struct wp_report *report);
/* Frees all arrays at once and zeroes it; a zeroed one is allowed. */
void wp_report_order_fini(struct wp_report_order *order);

#endif
