/* SPDX-License-Identifier: Apache-2.0 */
/*
 * merge(into, from): ids of `from` are translated once each, then every row is added as if it had been recorded here.
 * All rows are sums or sets by content, which is what makes the law (associative, commutative, zero, exact) hold.
 */
#include "storage/report/report_merge.h"

#include "storage/report/report_body.h"
#include "storage/report/report_lines.h"
#include "storage/report/report_rows.h"
#include "storage/report/report_series.h"
#include "storage/report/report_transactions.h"

#include <errno.h>
#include <stdlib.h>

struct merge {
    struct wp_report *into;
    const struct wp_report *from;
    const bool *is_left_out; /* by node of `from`; NULL: none is */
    uint32_t *strings;       /* id there -> id here + 1; 0: not translated yet */
    uint32_t *nodes;         /* id there -> id here */
    uint32_t *frames, *cells, *sites;
};

static uint32_t string_here(struct merge *merge, uint32_t id)
{
    if (!merge->strings[id]) {
        const char *text = wp_intern_text(merge->from->strings, id);
        uint32_t here = wp_intern_id(merge->into->strings, text, wp_intern_size(merge->from->strings, id));
        if (here == UINT32_MAX) {
            merge->into->has_failed = true;
            return 0;
        }
        merge->strings[id] = here + 1;
    }
    return merge->strings[id] - 1;
}

static void merge_tree(struct merge *merge, uint32_t frame_count, uint32_t node_count)
{
    const struct wp_report *from = merge->from;
    struct wp_tree_rows tree = wp_report_tree(merge->into);
    for (uint32_t i = 1; i < frame_count; i++) {
        struct wp_frame_info info = from->frames[i];
        info.name = string_here(merge, info.name);
        info.object = string_here(merge, info.object);
        merge->frames[i] = wp_tree_frame(&tree, info);
    }
    for (uint32_t i = 1; i < node_count; i++) {
        struct wp_node node = from->nodes[i];
        uint32_t below = merge->nodes[node.parent];
        bool is_left_out = below && merge->is_left_out && merge->is_left_out[i];
        merge->nodes[i] = is_left_out ? below : wp_report_child(merge->into, below, merge->frames[node.frame]);
    }
}

static void merge_times(struct merge *merge, uint32_t cells, uint32_t samples)
{
    const struct wp_report *from = merge->from;
    for (uint32_t i = 0; i < cells; i++) {
        struct wp_cell cell = from->cells[i];
        merge->cells[i] = wp_report_cell_add(merge->into, merge->nodes[cell.node], cell.category, cell.ns, cell.count);
    }
    for (uint32_t i = 0; i < samples; i++) {
        struct wp_cell_sample sample = from->samples[i];
        wp_report_sample_add(merge->into, merge->cells[sample.cell], sample.bucket, from->bucket_shift, sample.ns);
    }
}

static void merge_rows(struct merge *merge)
{
    const struct wp_report *from = merge->from;
    uint32_t processes = from->process_count, unexplained = from->unexplained_count, spans = from->span_count;
    uint32_t hosts = from->host_count, events = from->event_count, limits = from->limit_count;
    uint32_t edges = from->edge_count, transactions = from->transaction_count, slowest = from->slowest_count;
    for (uint32_t i = 0; i < processes; i++) {
        struct wp_report_process row = from->processes[i];
        uint64_t total_ns = row.total_ns, running_ns = row.running_ns;
        row.host = string_here(merge, row.host);
        row.comm = string_here(merge, row.comm);
        wp_report_process_add(merge->into, wp_report_process_row(merge->into, &row), total_ns, running_ns);
    }
    for (uint32_t i = 0; i < unexplained; i++) {
        struct wp_unexplained row = from->unexplained[i];
        row.node = merge->nodes[row.node];
        row.reason = string_here(merge, row.reason);
        wp_report_unexplained_add(merge->into, &row);
    }
    for (uint32_t i = 0; i < spans; i++)
        wp_report_activity(merge->into, from->spans[i].start_ns, from->spans[i].end_ns);
    for (uint32_t i = 0; i < hosts; i++)
        wp_report_host_add(merge->into, string_here(merge, from->hosts[i]));
    for (uint32_t i = 0; i < events; i++) {
        struct wp_event_count row = from->events[i];
        row.kind = string_here(merge, row.kind);
        wp_report_event_add(merge->into, &row);
    }
    for (uint32_t i = 0; i < limits; i++) {
        struct wp_limit_count row = from->limits[i];
        row.name = string_here(merge, row.name);
        wp_report_limit_add(merge->into, &row);
    }
    for (uint32_t i = 0; i < edges; i++) {
        struct wp_report_edge row = from->edges[i];
        row.from = string_here(merge, row.from);
        row.to = string_here(merge, row.to);
        wp_report_edge_add(merge->into, &row);
    }
    for (uint32_t i = 0; i < transactions; i++) {
        struct wp_transaction row = from->transactions[i];
        row.service = string_here(merge, row.service);
        row.who = string_here(merge, row.who);
        row.what = string_here(merge, row.what);
        wp_report_transaction_add(merge->into, &row);
    }
    for (uint32_t i = 0; i < slowest; i++) {
        struct wp_slowest row = from->slowest[i];
        row.service = string_here(merge, row.service);
        wp_report_slowest_add(merge->into, &row);
    }
}

static void merge_lines(struct merge *merge, uint32_t sites, uint32_t lines, uint32_t calls)
{
    const struct wp_report *from = merge->from;
    for (uint32_t i = 0; i < sites; i++) {
        struct wp_report_site site = from->sites[i];
        site.file = string_here(merge, site.file);
        site.function = string_here(merge, site.function);
        merge->sites[i] = wp_report_site_row(merge->into, &site);
    }
    for (uint32_t i = 0; i < lines; i++) {
        struct wp_report_line row = from->lines[i];
        row.site = merge->sites[row.site];
        wp_report_line_add(merge->into, &row);
    }
    for (uint32_t i = 0; i < calls; i++) {
        struct wp_report_call row = from->calls[i];
        row.site = merge->sites[row.site];
        row.callee = string_here(merge, row.callee);
        wp_report_call_add(merge->into, &row);
    }
}

int wp_report_merge_without(
    struct wp_report *into, const struct wp_report *from, const bool *is_left_out, struct wp_error *err)
{
    struct merge merge = {.into = into, .from = from, .is_left_out = is_left_out};
    uint32_t cells = from->cell_count, samples = from->sample_count;
    uint32_t sites = from->site_count, lines = from->line_count, calls = from->call_count;
    merge.strings = calloc(wp_intern_count(from->strings), sizeof(*merge.strings));
    merge.nodes = calloc(from->node_count, sizeof(*merge.nodes));
    merge.frames = calloc(from->frame_count, sizeof(*merge.frames));
    merge.cells = calloc(cells + (size_t)1, sizeof(*merge.cells));
    merge.sites = calloc(sites + (size_t)1, sizeof(*merge.sites));
    int rc =
        merge.strings && merge.nodes && merge.frames && merge.cells && merge.sites && !from->has_failed ? 0 : -ENOMEM;
    if (!rc) {
        merge_tree(&merge, from->frame_count, from->node_count);
        merge_times(&merge, cells, samples);
        merge_rows(&merge);
        merge_lines(&merge, sites, lines, calls);
        wp_report_window(into, from->recorded_ns, from->window_ns);
        wp_report_uncertain(into, from->uncertain_ns);
        wp_report_detached(into, from->detached_ns);
        rc = into->has_failed ? -ENOMEM : 0;
    }
    free(merge.strings);
    free(merge.nodes);
    free(merge.frames);
    free(merge.cells);
    free(merge.sites);
    return rc ? wp_error_set(err, rc, "out of memory for merging a report of %u stacks", from->node_count) : 0;
}

int wp_report_merge(struct wp_report *into, const struct wp_report *from, struct wp_error *err)
{
    int rc = wp_report_merge_without(into, from, NULL, err);
    if (rc || !from->detached)
        return rc;
    if (!wp_report_detached_add(into))
        return wp_error_set(err, -ENOMEM, "out of memory for merging a report of detached work");
    return wp_report_merge_without(into->detached, from->detached, NULL, err);
}
