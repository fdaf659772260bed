/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_BODY_H
#define WP_STORAGE_REPORT_REPORT_BODY_H
/* The inside of a report, for report*.c alone. */
#include "storage/report/report.h"
#include "storage/value/rows.h"

#include <stdbool.h>

#define WP_NO_CELL UINT32_MAX
#define WP_REPORT_BUCKET_SHIFT_LIMIT 58u /* 64 buckets of it hold every time there is */

struct wp_report {
    struct wp_intern *strings;
    struct wp_frame_info *frames;
    struct wp_node *nodes;
    uint32_t *node_cell;       /* a node's newest cell, WP_NO_CELL none; as many as nodes */
    struct wp_cell *cells;
    uint32_t *cell_next;       /* the same node's cell before it: at most WP_CATEGORIES long, found without hashing */
    uint32_t *cell_sample;     /* a cell's newest sample, WP_NO_CELL none */
    struct wp_cell_sample *samples;
    uint64_t buckets[WP_REPORT_BUCKETS]; /* those in use, ascending */
    unsigned bucket_shift;
    struct wp_report_process *processes;
    struct wp_unexplained *unexplained, *largest;
    struct wp_span *spans;     /* ascending, apart */
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
    struct wp_intmap names;    /* (host, comm) -> a number for the pair */
    struct wp_intmap by_process, by_unexplained, by_host, by_event, by_limit, by_edge, by_transaction, by_slowest,
        by_site, by_line, by_call;
    uint64_t recorded_ns, window_ns, uncertain_ns, detached_ns;
    bool largest_is_fresh, has_failed;
};

/* wp_report_add, and which cell it was; WP_NO_CELL when it failed. */
uint32_t wp_report_cell_add(struct wp_report *report, uint32_t node, enum wp_category category, uint64_t ns, uint64_t count);
/* Adds to the sample of `cell` in the bucket `bucket` of width 2^shift, which may widen all buckets. */
void wp_report_sample_add(struct wp_report *report, uint32_t cell, uint64_t bucket, unsigned shift, uint64_t ns);
/* The place of a bucket of the report's own width, bucket_count when it is not there. */
uint32_t wp_report_bucket_place(const struct wp_report *report, uint64_t bucket);
/* Row adders by id of a string of this report; the public ones stand on them. */
uint32_t wp_report_process_row(struct wp_report *report, const struct wp_report_process *key);
void wp_report_unexplained_add(struct wp_report *report, const struct wp_unexplained *row);
void wp_report_host_add(struct wp_report *report, uint32_t string);
void wp_report_event_add(struct wp_report *report, const struct wp_event_count *row);
void wp_report_limit_add(struct wp_report *report, const struct wp_limit_count *row);
void wp_report_edge_add(struct wp_report *report, const struct wp_report_edge *row);
void wp_report_transaction_add(struct wp_report *report, const struct wp_transaction *row);
void wp_report_slowest_add(struct wp_report *report, const struct wp_slowest *row);
uint32_t wp_report_site_row(struct wp_report *report, const struct wp_report_site *key);
/* wp_report_encode, and how many nodes it wrote (those that time stands on). */
int wp_report_pack(const struct wp_report *report, struct wp_buffer *out, uint32_t *nodes, struct wp_error *err);
struct wp_tree_rows wp_report_tree(struct wp_report *report);

#endif
