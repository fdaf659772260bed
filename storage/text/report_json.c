/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/text/report_json.h"

#include "storage/report/report_decode.h"
#include "storage/report/report_lines.h"
#include "storage/report/report_read.h"
#include "storage/report/report_series.h"
#include "storage/report/report_transactions.h"
#include "storage/text/json_parts.h"

#include <stdlib.h>

#define STACK_SHOWN 512u

/* "frame;frame;..." of a node, outermost first. Hostile depths are cut. */
static void put_stack(struct json_object *row, const struct wp_report *report, uint32_t node)
{
    uint32_t count, path[STACK_SHOWN], depth = 0;
    const struct wp_node *nodes = wp_report_nodes(report, &count);
    const struct wp_frame_info *frames = wp_report_frames(report, &count);
    struct wp_buffer text = {0};
    for (; node && depth < STACK_SHOWN; node = nodes[node].parent)
        path[depth++] = nodes[node].frame;
    if (node)
        wp_buffer_puts(&text, "...;");
    while (depth-- > 0) {
        wp_buffer_puts(&text, wp_report_text(report, frames[path[depth]].name));
        if (depth)
            wp_buffer_putc(&text, ';');
    }
    wp_json_put_text(row, "stack", text.data ? (const char *)text.data : "");
    wp_buffer_fini(&text);
}

/* The cells' rows have their samples, in the order of time: which bucket, and how much. */
static void put_samples(struct json_object **times, const struct wp_report *report)
{
    uint32_t count, buckets;
    unsigned shift;
    const struct wp_cell_sample *samples = wp_report_samples(report, &count);
    const uint64_t *starts = wp_report_buckets(report, &buckets, &shift);
    for (uint32_t bucket = 0; bucket < buckets; bucket++)
        for (uint32_t i = 0; i < count; i++) {
            if (samples[i].bucket != starts[bucket])
                continue;
            struct json_object *row = wp_json_add_row(times[samples[i].cell]);
            wp_json_put_number(row, "start_ns", samples[i].bucket << shift);
            wp_json_put_number(row, "ns", samples[i].ns);
        }
}

static void put_times(struct json_object *object, const struct wp_report *report)
{
    uint32_t count;
    struct json_object *rows = wp_json_put_rows(object, "times");
    const struct wp_cell *cells = wp_report_cells(report, &count);
    struct json_object **samples = calloc(count + (size_t)1, sizeof(struct json_object *));
    for (uint32_t i = 0; i < count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_number(row, "ns", cells[i].ns);
        wp_json_put_number(row, "count", cells[i].count);
        wp_json_put_text(row, "category", wp_category_key(cells[i].category));
        put_stack(row, report, cells[i].node);
        if (samples)
            samples[i] = wp_json_put_rows(row, "samples");
    }
    if (samples)
        put_samples(samples, report);
    free(samples);
    rows = wp_json_put_rows(object, "unexplained");
    const struct wp_unexplained *waits = wp_report_unexplained_rows(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_number(row, "ns", waits[i].ns);
        wp_json_put_number(row, "count", waits[i].count);
        wp_json_put_text(row, "reason", wp_report_text(report, waits[i].reason));
        wp_json_put_number(row, "longest_ns", waits[i].longest_ns);
        wp_json_put_number(row, "tid", waits[i].tid);
        put_stack(row, report, waits[i].node);
    }
}

static void put_facts(struct json_object *object, const struct wp_report *report)
{
    uint32_t count;
    struct json_object *rows = wp_json_put_rows(object, "processes");
    const struct wp_report_process *processes = wp_report_processes(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_text(row, "host", wp_report_text(report, processes[i].host));
        wp_json_put_text(row, "comm", wp_report_text(report, processes[i].comm));
        wp_json_put_number(row, "pid", processes[i].pid);
        wp_json_put_number(row, "start_ns", processes[i].start_ns);
        wp_json_put_number(row, "total_ns", processes[i].total_ns);
        wp_json_put_number(row, "running_ns", processes[i].running_ns);
    }
    rows = wp_json_put_rows(object, "spans");
    const struct wp_span *spans = wp_report_spans(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_number(row, "start_ns", spans[i].start_ns);
        wp_json_put_number(row, "end_ns", spans[i].end_ns);
    }
    rows = wp_json_put_rows(object, "hosts");
    const uint32_t *hosts = wp_report_hosts(report, &count);
    for (uint32_t i = 0; i < count; i++)
        wp_json_put_text(wp_json_add_row(rows), "host", wp_report_text(report, hosts[i]));
}

static struct json_object *add_place(struct json_object *rows, const struct wp_report *report, uint32_t at)
{
    uint32_t count;
    const struct wp_report_site *site = &wp_report_sites(report, &count)[at];
    struct json_object *row = wp_json_add_row(rows);
    wp_json_put_text(row, "file", wp_report_text(report, site->file));
    wp_json_put_number(row, "line", site->line);
    wp_json_put_text(row, "function", wp_report_text(report, site->function));
    return row;
}

static void put_lines(struct json_object *object, const struct wp_report *report)
{
    uint32_t count;
    struct json_object *rows = wp_json_put_rows(object, "lines");
    const struct wp_report_line *lines = wp_report_lines(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct json_object *row = add_place(rows, report, lines[i].site);
        wp_json_put_text(row, "category", wp_category_key(lines[i].category));
        wp_json_put_number(row, "total_ns", lines[i].total_ns);
        wp_json_put_number(row, "run_ns", lines[i].run_ns);
        wp_json_put_number(row, "self_ns", lines[i].self_ns);
    }
    rows = wp_json_put_rows(object, "calls");
    const struct wp_report_call *calls = wp_report_calls(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct json_object *row = add_place(rows, report, calls[i].site);
        wp_json_put_text(row, "callee", wp_report_text(report, calls[i].callee));
        wp_json_put(row, "is_inlined", json_object_new_boolean(calls[i].is_inlined));
        wp_json_put_number(row, "total_ns", calls[i].total_ns);
        wp_json_put_number(row, "run_ns", calls[i].run_ns);
    }
}

static void put_transactions(struct json_object *object, const struct wp_report *report)
{
    uint32_t count;
    struct json_object *rows = wp_json_put_rows(object, "transactions");
    const struct wp_transaction *transactions = wp_report_transactions(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        uint32_t part = transactions[i].part;
        wp_json_put_text(row, "service", wp_report_text(report, transactions[i].service));
        wp_json_put_text(row, "who", wp_report_text(report, transactions[i].who));
        wp_json_put_text(row, "what", wp_report_text(report, transactions[i].what));
        wp_json_put_text(row, "part",
            part == WP_PART_WHOLE        ? "whole"
                : part == WP_PART_UNREAD ? "unread"
                                         : wp_category_key(part));
        wp_json_put_number(row, "at_least_ns", wp_latency_floor(transactions[i].bucket));
        wp_json_put_number(row, "ns", transactions[i].ns);
        wp_json_put_number(row, "count", transactions[i].count);
    }
    rows = wp_json_put_rows(object, "slowest_transactions");
    const struct wp_slowest *slowest = wp_report_slowest(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_text(row, "service", wp_report_text(report, slowest[i].service));
        wp_json_put_number(row, "start_ns", slowest[i].start_ns);
        wp_json_put_number(row, "ns", slowest[i].ns);
    }
}

static void put_counts(struct json_object *object, const struct wp_report *report)
{
    uint32_t count;
    struct json_object *rows = wp_json_put_rows(object, "events");
    const struct wp_event_count *events = wp_report_event_counts(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_text(row, "kind", wp_report_text(report, events[i].kind));
        wp_json_put_number(row, "total", events[i].total);
        wp_json_put_number(row, "dropped", events[i].dropped);
    }
    rows = wp_json_put_rows(object, "limits");
    const struct wp_limit_count *limits = wp_report_limits(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_text(row, "name", wp_report_text(report, limits[i].name));
        wp_json_put_number(row, "count", limits[i].count);
        wp_json_put_number(row, "ns", limits[i].ns);
    }
    rows = wp_json_put_rows(object, "edges");
    const struct wp_report_edge *edges = wp_report_edges(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct json_object *row = wp_json_add_row(rows);
        wp_json_put_text(row, "from", wp_report_text(report, edges[i].from));
        wp_json_put_text(row, "to", wp_report_text(report, edges[i].to));
        wp_json_put_number(row, "messages", edges[i].messages);
        wp_json_put_number(row, "waited_ns", edges[i].waited_ns);
        wp_json_put_number(row, "transit_ns", edges[i].transit_ns);
        wp_json_put_number(row, "transit_max_ns", edges[i].transit_max_ns);
        wp_json_put_number(row, "bound_max_ns", edges[i].bound_max_ns);
    }
    put_transactions(object, report);
    put_lines(object, report);
    wp_json_put(object, "coverage", json_object_new_double(wp_report_coverage(report)));
    wp_json_put_number(object, "uncertain_ns", wp_report_uncertain_ns(report));
    wp_json_put_number(object, "detached_ns", wp_report_detached_ns(report));
}

int wp_report_json(struct json_object *object, const struct wp_buffer *raw, struct wp_error *err)
{
    struct wp_report *report = NULL;
    struct wp_head head;
    int rc = wp_report_decode(&report, raw->data, raw->size, err);
    if (rc)
        return rc;
    wp_head_of_report(&head, report);
    wp_json_put(object, "head", wp_head_json(&head, false));
    put_counts(object, report);
    put_facts(object, report);
    put_times(object, report);
    wp_report_destroy(report);
    return 0;
}
