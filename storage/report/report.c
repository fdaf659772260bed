/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/report.h"

#include "common/array.h"
#include "storage/report/report_body.h"
#include "storage/report/report_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A cleared report keeps its strings, so that names seen again cost nothing; past this many it lets them go. */
#define KEPT_STRINGS 65536u

static int start(struct wp_report *report)
{
    struct wp_tree_rows tree = wp_report_tree(report);
    if (!report->strings)
        report->strings = wp_intern_create();
    if (!report->strings || wp_tree_start(&tree) ||
        wp_rows_grow(&report->node_cell, &report->node_cell_room, 0, sizeof(*report->node_cell)))
        return -ENOMEM;
    report->node_cell[0] = WP_NO_CELL;
    report->bucket_shift = WP_REPORT_BUCKET_SHIFT;
    return 0;
}

struct wp_report *wp_report_create(void)
{
    struct wp_report *report = calloc(1, sizeof(*report));
    if (report && start(report)) {
        wp_report_destroy(report);
        return NULL;
    }
    return report;
}

void wp_report_destroy(struct wp_report *report)
{
    if (!report)
        return;
    struct wp_intmap *maps[] = {&report->tree.frames, &report->tree.children, &report->names, &report->by_process,
        &report->by_unexplained, &report->by_host, &report->by_event, &report->by_limit, &report->by_edge,
        &report->by_transaction, &report->by_slowest, &report->by_site, &report->by_line, &report->by_call};
    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
        wp_intmap_fini(maps[i]);
    void *rows[] = {report->frames, report->nodes, report->node_cell, report->cells, report->cell_next,
        report->cell_sample, report->samples, report->processes, report->unexplained, report->largest, report->spans,
        report->hosts, report->events, report->limits, report->edges, report->transactions, report->slowest,
        report->sites, report->lines, report->calls};
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        free(rows[i]);
    wp_intern_destroy(report->strings);
    wp_report_destroy(report->detached);
    free(report);
}

void wp_report_clear(struct wp_report *report)
{
    struct wp_intmap *maps[] = {&report->tree.frames, &report->tree.children, &report->names, &report->by_process,
        &report->by_unexplained, &report->by_host, &report->by_event, &report->by_limit, &report->by_edge,
        &report->by_transaction, &report->by_slowest, &report->by_site, &report->by_line, &report->by_call};
    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
        wp_intmap_clear(maps[i]);
    report->bucket_count = report->sample_count = 0;
    report->cell_count = report->process_count = report->unexplained_count = report->largest_count = 0;
    report->span_count = report->host_count = report->event_count = report->limit_count = report->edge_count = 0;
    report->transaction_count = report->slowest_count = 0;
    report->site_count = report->line_count = report->call_count = 0;
    report->recorded_ns = report->window_ns = report->uncertain_ns = report->detached_ns = 0;
    report->largest_is_fresh = report->has_failed = false;
    struct wp_intern *strings = wp_intern_count(report->strings) > KEPT_STRINGS ? wp_intern_create() : NULL;
    if (strings) { /* without memory for new ones it keeps the old */
        wp_intern_destroy(report->strings);
        report->strings = strings;
    }
    if (report->detached)
        wp_report_clear(report->detached);
    if (start(report))
        report->has_failed = true;
}

uint32_t wp_report_string(struct wp_report *report, const char *text)
{
    return wp_report_checked(report, wp_rows_string(report->strings, text));
}

uint32_t wp_report_frame(struct wp_report *report, enum wp_frame_style style, const char *name, const char *object)
{
    struct wp_frame_info info = {style, wp_report_string(report, name), wp_report_string(report, object)};
    if (info.name == UINT32_MAX || info.object == UINT32_MAX)
        return UINT32_MAX;
    struct wp_tree_rows tree = wp_report_tree(report);
    return wp_report_checked(report, wp_tree_frame(&tree, info));
}

uint32_t wp_report_child(struct wp_report *report, uint32_t parent, uint32_t frame)
{
    struct wp_tree_rows tree = wp_report_tree(report);
    uint32_t before = report->node_count;
    uint32_t node = wp_report_checked(report, wp_tree_child(&tree, parent, frame));
    if (report->node_count == before)
        return node;
    if (wp_rows_grow(&report->node_cell, &report->node_cell_room, before, sizeof(*report->node_cell))) {
        report->node_count = before; /* a node without its cell list does not exist */
        wp_intmap_remove(&report->tree.children, (struct wp_intkey){parent, frame});
        return wp_report_checked(report, UINT32_MAX);
    }
    report->node_cell[node] = WP_NO_CELL;
    return node;
}

void wp_report_add(struct wp_report *report, uint32_t node, enum wp_category category, uint64_t ns, uint64_t count)
{
    wp_report_cell_add(report, node, category, ns, count);
}

uint32_t wp_report_process(
    struct wp_report *report, const char *host, const char *comm, uint32_t pid, uint64_t start_ns)
{
    struct wp_report_process key = {.host = wp_report_string(report, host),
        .comm = wp_report_string(report, comm),
        .pid = pid,
        .start_ns = start_ns};
    if (key.host == UINT32_MAX || key.comm == UINT32_MAX)
        return UINT32_MAX;
    return wp_report_process_row(report, &key);
}

void wp_report_process_add(struct wp_report *report, uint32_t process, uint64_t total_ns, uint64_t running_ns)
{
    if (process >= report->process_count) {
        report->has_failed = true;
        return;
    }
    struct wp_report_process *row = &report->processes[process];
    row->total_ns = wp_sum(row->total_ns, total_ns);
    row->running_ns = wp_sum(row->running_ns, running_ns);
}

void wp_report_unexplained_each(
    struct wp_report *report, uint32_t node, const char *reason, uint64_t ns, uint64_t count, uint32_t tid)
{
    uint32_t text = wp_report_string(report, reason);
    if (text != UINT32_MAX)
        wp_report_unexplained_add(report, &(struct wp_unexplained){node, text, wp_times(ns, count), count, ns, tid});
}

/* The first span that ends at or after `ns`. */
static uint32_t span_at(const struct wp_report *report, uint64_t ns)
{
    return WP_LOWER_BOUND(middle, 0, report->span_count, report->spans[middle].end_ns < ns);
}

void wp_report_activity(struct wp_report *report, uint64_t start_ns, uint64_t end_ns)
{
    if (end_ns <= start_ns)
        return;
    if (wp_rows_grow(&report->spans, &report->span_room, report->span_count, sizeof(*report->spans))) {
        report->has_failed = true;
        return;
    }
    /* [first, last) touch or overlap the new one and become one with it. */
    uint32_t first = span_at(report, start_ns), last = first;
    for (; last < report->span_count && report->spans[last].start_ns <= end_ns; last++) {
        if (report->spans[last].start_ns < start_ns)
            start_ns = report->spans[last].start_ns;
        if (report->spans[last].end_ns > end_ns)
            end_ns = report->spans[last].end_ns;
    }
    memmove(&report->spans[first + 1], &report->spans[last], (report->span_count - last) * sizeof(*report->spans));
    report->spans[first] = (struct wp_span){start_ns, end_ns};
    report->span_count = report->span_count - (last - first) + 1;
}

void wp_report_host(struct wp_report *report, const char *host)
{
    wp_report_host_add(report, wp_report_string(report, host));
}

void wp_report_events(struct wp_report *report, const char *kind, uint64_t total, uint64_t dropped)
{
    wp_report_event_add(report, &(struct wp_event_count){wp_report_string(report, kind), total, dropped});
}

void wp_report_limit(struct wp_report *report, const char *name, uint64_t count, uint64_t ns)
{
    wp_report_limit_add(report, &(struct wp_limit_count){wp_report_string(report, name), count, ns});
}

void wp_report_edge(struct wp_report *report, const char *from, const char *to, const struct wp_report_edge *sums)
{
    struct wp_report_edge row = *sums;
    row.from = wp_report_string(report, from);
    row.to = wp_report_string(report, to);
    wp_report_edge_add(report, &row);
}

void wp_report_window(struct wp_report *report, uint64_t recorded_ns, uint64_t window_ns)
{
    report->recorded_ns = wp_sum(report->recorded_ns, recorded_ns);
    report->window_ns = wp_sum(report->window_ns, window_ns);
}

void wp_report_uncertain(struct wp_report *report, uint64_t ns)
{
    report->uncertain_ns = wp_sum(report->uncertain_ns, ns);
}

void wp_report_detached(struct wp_report *report, uint64_t ns)
{
    report->detached_ns = wp_sum(report->detached_ns, ns);
}

struct wp_report *wp_report_detached_add(struct wp_report *report)
{
    if (!report->detached && !(report->detached = wp_report_create()))
        report->has_failed = true;
    return report->detached;
}

int wp_report_failed(const struct wp_report *report)
{
    return report->has_failed || (report->detached && report->detached->has_failed);
}

size_t wp_report_bytes(const struct wp_report *r)
{
    const struct wp_intmap *const maps[] = {&r->tree.frames, &r->tree.children, &r->names, &r->by_process,
        &r->by_unexplained, &r->by_host, &r->by_event, &r->by_limit, &r->by_edge, &r->by_transaction, &r->by_slowest,
        &r->by_site, &r->by_line, &r->by_call};
    size_t bytes = wp_intern_bytes(r->strings) + r->frame_room * sizeof(*r->frames) + r->node_room * sizeof(*r->nodes) +
        r->node_cell_room * sizeof(*r->node_cell) + r->cell_room * sizeof(*r->cells) +
        r->cell_next_room * sizeof(*r->cell_next) + r->cell_sample_room * sizeof(*r->cell_sample) +
        r->sample_room * sizeof(*r->samples) + r->process_room * sizeof(*r->processes) +
        r->unexplained_room * sizeof(*r->unexplained) + r->span_room * sizeof(*r->spans) +
        r->transaction_room * sizeof(*r->transactions) + r->slowest_room * sizeof(*r->slowest) +
        r->edge_room * sizeof(*r->edges) + r->site_room * sizeof(*r->sites) + r->line_room * sizeof(*r->lines) +
        r->call_room * sizeof(*r->calls);
    for (size_t i = 0; i < sizeof(maps) / sizeof(*maps); i++)
        bytes += wp_intmap_bytes(maps[i]);
    return bytes + (r->detached ? wp_report_bytes(r->detached) : 0);
}
