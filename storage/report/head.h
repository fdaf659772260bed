/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_HEAD_H
#define WP_STORAGE_REPORT_HEAD_H
/* The head of a report or trace: what listings show without reading the body. */
#include "storage/report/report.h"
#include "storage/report/trace.h"

/* Sums and counts of one report or trace. */
struct wp_head {
    uint64_t first_ns, last_ns; /* realtime, 0 none */
    uint64_t wall_ns, total_ns, category_ns[WP_CATEGORIES];
    uint32_t hosts, nodes, processes, pieces;
    uint64_t events, dropped;
    uint64_t timebox_length_s; /* after a roll-up; 0: as its writer made it */
};

/* Sets all of *head but `pieces` and `timebox_length_s`, which are 0; reads the whole report. */
void wp_head_of_report(struct wp_head *head, const struct wp_report *report);
/* Sets all of *head; what only reports have is 0. */
void wp_head_of_trace(struct wp_head *head, const struct wp_trace *trace);
/* Appends the message. -ENOMEM. */
int wp_head_encode(const struct wp_head *head, struct wp_buffer *out, struct wp_error *err);
/* -EBADMSG. */
int wp_head_decode(struct wp_head *head, const uint8_t *bytes, size_t size, struct wp_error *err);

#endif
