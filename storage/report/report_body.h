/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_BODY_H
#define WP_STORAGE_REPORT_REPORT_BODY_H
/* The inside of a report, for report*.c alone. */
#include "common/intern.h"
#include "common/intmap.h"
#include "storage/report/report_types.h"
#include "storage/value/rows.h"

#include <stdbool.h>

#define WP_NO_CELL UINT32_MAX
#define WP_REPORT_BUCKET_SHIFT_LIMIT 58u /* 64 buckets of it hold every time there is */

struct wp_report {
    struct wp_intern *strings;
    struct wp_frame_info *frames;
    struct wp_node *nodes;
    uint32_t *node_cell; /* a node's newest cell, WP_NO_CELL none; as many as nodes */
    struct wp_cell *cells;
    uint32_t *cell_next;   /* the same node's cell before it: at most WP_CATEGORIES long, found without hashing */
    uint32_t *cell_sample; /* a cell's newest sample, WP_NO_CELL none */
    struct wp_cell_sample *samples;
    uint64_t buckets[WP_REPORT_BUCKETS]; /* those in use, ascending */
    unsigned bucket_shift;
    struct wp_report_process *processes;
    struct wp_unexplained *unexplained, *largest;
    struct wp_span *spans; /* ascending, apart */
    uint32_t *hosts;
    struct wp_event_count *events;
    struct wp_limit_count *limits;
    struct wp_report_edge *edges;
    struct wp_transaction *transactions;
    struct wp_slowest *slowest;
    struct wp_report_site *sites;
    struct wp_report_line *lines;
    struct wp_report_call *calls;
    uint32_t site_count, line_count, call_count, site_room, line_room, call_room;
    uint32_t bucket_count, sample_count, sample_room, cell_sample_room;
    uint32_t frame_count, node_count, cell_count, process_count, unexplained_count, largest_count, span_count,
        host_count, event_count, limit_count, edge_count, transaction_count, slowest_count;
    uint32_t frame_room, node_room, node_cell_room, cell_room, cell_next_room, process_room, unexplained_room,
        span_room, host_room, event_room, limit_room, edge_room, transaction_room, slowest_room;
    struct wp_tree_index tree;
    struct wp_intmap names; /* (host, comm) -> a number for the pair */
    struct wp_intmap by_process, by_unexplained, by_host, by_event, by_limit, by_edge, by_transaction, by_slowest,
        by_site, by_line, by_call;
    uint64_t recorded_ns, window_ns, uncertain_ns, detached_ns;
    struct wp_report *detached; /* owned; NULL: nothing was put into it yet */
    bool largest_is_fresh, has_failed;
};

/* Remembers that something was lost. */
static inline uint32_t wp_report_checked(struct wp_report *report, uint32_t id)
{
    if (id == UINT32_MAX)
        report->has_failed = true;
    return id;
}

/* The row of `key` in `map`: *is_new when it is the next one, for which the caller has made room. */
static inline uint32_t wp_report_find_row(struct wp_intmap *map, struct wp_intkey key, uint32_t count, bool *is_new)
{
    uint32_t row = count;
    *is_new = !wp_intmap_get(map, key, &row);
    return *is_new && wp_intmap_put(map, key, row) ? UINT32_MAX : row;
}

#endif
