/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_H
#define WP_STORAGE_REPORT_REPORT_H
/*
 * A report: what an aggregate's control paths did in a timebox, gathered by pseudo-stack. The engine adds to it, the
 * store keeps it, the reporter reads it. merge(report, report) is associative, commutative, has a zero (an empty
 * report) and is exact: integers and sets only. All ids below are the report's own; strings, frames and nodes are
 * made on first use and found by hash after that (no allocation for what was seen before).
 */
#include "common/buffer.h"
#include "common/error.h"
#include "storage/report/report_types.h"
#include "storage/value/category.h"

#include <stddef.h>
#include <stdint.h>

struct wp_report; /* opaque; the arrays are read with the accessors */

/* An empty report, for wp_report_destroy. NULL when out of memory. */
struct wp_report *wp_report_create(void);
/* NULL is allowed. Ends every pointer that an accessor gave. */
void wp_report_destroy(struct wp_report *report);
/* Empties it and keeps its memory. */
void wp_report_clear(struct wp_report *report);
/* What it takes of memory. */
size_t wp_report_bytes(const struct wp_report *report);

/* --- adding; ids are UINT32_MAX and adds are lost (wp_report_failed says so) when out of memory --- */
uint32_t wp_report_string(struct wp_report *report, const char *text);
/* The frame's id. NULL texts are ""; each is cut to WP_TEXT_LIMIT bytes, as all texts of a report are. */
uint32_t wp_report_frame(struct wp_report *report, enum wp_frame_style style, const char *name, const char *object);
/* The child of `parent` (0: root) with this frame. */
uint32_t wp_report_child(struct wp_report *report, uint32_t parent, uint32_t frame);
/* `count` pieces, `ns` long together, on top of the node. A node or category that is not there is lost. */
void wp_report_add(struct wp_report *report, uint32_t node, enum wp_category category, uint64_t ns, uint64_t count);
/* Index of the process row, made if new. */
uint32_t wp_report_process(
    struct wp_report *report, const char *host, const char *comm, uint32_t pid, uint64_t start_ns);
/* Adds to the times of a row of wp_report_process; an index that is not there is lost. */
void wp_report_process_add(struct wp_report *report, uint32_t process, uint64_t total_ns, uint64_t running_ns);
/* `count` intervals of `ns` each. */
void wp_report_unexplained_each(
    struct wp_report *report, uint32_t node, const char *reason, uint64_t ns, uint64_t count, uint32_t tid);
/* Activity of the process of interest; wall time is the length of the union of the spans. */
void wp_report_activity(struct wp_report *report, uint64_t start_ns, uint64_t end_ns);
/* Adds the host to the set of those that the report covers; one that is there already changes nothing. */
void wp_report_host(struct wp_report *report, const char *host);
/* Adds to the counts of that kind of event; `dropped` are those that were lost before they could be read. */
void wp_report_events(struct wp_report *report, const char *kind, uint64_t total, uint64_t dropped);
/* Adds to the row of an engine limit (struct wp_limit_count): how often it bit, and the time it touched. */
void wp_report_limit(struct wp_report *report, const char *name, uint64_t count, uint64_t ns);
/* `sums` without its hosts: the maxima are of these messages. */
void wp_report_edge(struct wp_report *report, const char *from, const char *to, const struct wp_report_edge *sums);
/* Recorded time and the time it stands for (windows); coverage is their ratio. */
void wp_report_window(struct wp_report *report, uint64_t recorded_ns, uint64_t window_ns);
void wp_report_uncertain(struct wp_report *report, uint64_t ns); /* of the total, touched by drops or repaired gaps */
/* Work started by the paths and not waited for, counted apart from the total. */
void wp_report_detached(struct wp_report *report, uint64_t ns);
/* The report of that work, made at the first call and owned by this one; it counts none itself. NULL: out of memory,
 * as wp_report_failed of this one says. */
struct wp_report *wp_report_detached_add(struct wp_report *report);
/* 1 once anything was lost, until wp_report_clear: no memory, or an id that is not of this report. Else 0. */
int wp_report_failed(const struct wp_report *report);

#endif
