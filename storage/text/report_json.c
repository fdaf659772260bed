/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/text/report_json.h"

#include "storage/report/report_decode.h"
#include "storage/report/report_lines.h"
#include "storage/report/report_read.h"
#include "storage/report/report_series.h"
#include "storage/report/report_transactions.h"
#include "storage/text/json_parts.h"

#include <errno.h>
#include <stdlib.h>

#define STACK_SHOWN 512u

/* "frame;frame;..." of a node, outermost first. Hostile depths are cut. */
static void put_stack(struct wp_json *json, const struct wp_report *report, uint32_t node)
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
    wp_json_text(json, "stack", text.data ? (const char *)text.data : "");
    wp_buffer_fini(&text);
}

/* The samples of all cells, those of one together, in the order of time. */
struct samples {
    uint32_t *rows;  /* of the report's samples */
    uint32_t *first; /* of each cell in `rows`; one more ends the last */
};

static int sort_samples(struct samples *sorted, const struct wp_report *report)
{
    uint32_t count, buckets, cells;
    unsigned shift;
    const struct wp_cell_sample *samples = wp_report_samples(report, &count);
    const uint64_t *starts = wp_report_buckets(report, &buckets, &shift);
    wp_report_cells(report, &cells);
    sorted->rows = calloc(count + (size_t)1, sizeof(*sorted->rows));
    sorted->first = calloc(cells + (size_t)2, sizeof(*sorted->first));
    if (!sorted->rows || !sorted->first)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        sorted->first[samples[i].cell + 2]++;
    for (uint32_t i = 2; i < cells + 2; i++)
        sorted->first[i] += sorted->first[i - 1];
    for (uint32_t bucket = 0; bucket < buckets; bucket++)
        for (uint32_t i = 0; i < count; i++)
            if (samples[i].bucket == starts[bucket])
                sorted->rows[sorted->first[samples[i].cell + 1]++] = i;
    return 0;
}

static void put_samples(
    struct wp_json *json, const struct wp_report *report, const struct samples *sorted, uint32_t cell)
{
    uint32_t count, buckets;
    unsigned shift;
    const struct wp_cell_sample *samples = wp_report_samples(report, &count);
    wp_report_buckets(report, &buckets, &shift);
    wp_json_array(json, "samples");
    for (uint32_t i = sorted->first[cell]; i < sorted->first[cell + 1]; i++) {
        const struct wp_cell_sample *sample = &samples[sorted->rows[i]];
        wp_json_object(json, NULL);
        wp_json_number(json, "start_ns", sample->bucket << shift);
        wp_json_number(json, "ns", sample->ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static int put_times(struct wp_json *json, const struct wp_report *report)
{
    uint32_t count;
    struct samples sorted = {0};
    const struct wp_cell *cells = wp_report_cells(report, &count);
    int rc = sort_samples(&sorted, report);
    wp_json_array(json, "times");
    for (uint32_t i = 0; i < count && !rc; i++) {
        wp_json_object(json, NULL);
        wp_json_number(json, "ns", cells[i].ns);
        wp_json_number(json, "count", cells[i].count);
        wp_json_text(json, "category", wp_category_key(cells[i].category));
        put_stack(json, report, cells[i].node);
        put_samples(json, report, &sorted, i);
        wp_json_end(json);
    }
    wp_json_end(json);
    free(sorted.rows);
    free(sorted.first);
    return rc;
}

static void put_unexplained(struct wp_json *json, const struct wp_report *report)
{
    uint32_t count;
    const struct wp_unexplained *waits = wp_report_unexplained_rows(report, &count);
    wp_json_array(json, "unexplained");
    for (uint32_t i = 0; i < count; i++) {
        wp_json_object(json, NULL);
        wp_json_number(json, "ns", waits[i].ns);
        wp_json_number(json, "count", waits[i].count);
        wp_json_text(json, "reason", wp_report_text(report, waits[i].reason));
        wp_json_number(json, "longest_ns", waits[i].longest_ns);
        wp_json_number(json, "tid", waits[i].tid);
        put_stack(json, report, waits[i].node);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_host(struct wp_json *json, const char *host)
{
    wp_json_object(json, NULL);
    wp_json_text(json, "host", host);
    wp_json_end(json);
}

static void put_processes(struct wp_json *json, const struct wp_report *report)
{
    uint32_t count;
    wp_json_array(json, "processes");
    const struct wp_report_process *processes = wp_report_processes(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "host", wp_report_text(report, processes[i].host));
        wp_json_text(json, "comm", wp_report_text(report, processes[i].comm));
        wp_json_number(json, "pid", processes[i].pid);
        wp_json_number(json, "start_ns", processes[i].start_ns);
        wp_json_number(json, "total_ns", processes[i].total_ns);
        wp_json_number(json, "running_ns", processes[i].running_ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_spans(struct wp_json *json, const struct wp_report *report)
{
    uint32_t count;
    wp_json_array(json, "spans");
    const struct wp_span *spans = wp_report_spans(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        wp_json_object(json, NULL);
        wp_json_number(json, "start_ns", spans[i].start_ns);
        wp_json_number(json, "end_ns", spans[i].end_ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_hosts(struct wp_json *json, const struct wp_report *report)
{
    uint32_t count;
    wp_json_array(json, "hosts");
    const uint32_t *hosts = wp_report_hosts(report, &count);
    for (uint32_t i = 0; i < count; i++)
        put_host(json, wp_report_text(report, hosts[i]));
    wp_json_end(json);
}

/* A row that begins with the site; the caller ends it. */
static void begin_at_site(struct wp_json *json, const struct wp_report *report, uint32_t at)
{
    uint32_t count;
    const struct wp_report_site *site = &wp_report_sites(report, &count)[at];
    wp_json_object(json, NULL);
    wp_json_text(json, "file", wp_report_text(report, site->file));
    wp_json_number(json, "line", site->line);
    wp_json_text(json, "function", wp_report_text(report, site->function));
}

static void put_lines(struct wp_json *json, const struct wp_report *report)
{
    uint32_t count;
    wp_json_array(json, "lines");
    const struct wp_report_line *lines = wp_report_lines(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        begin_at_site(json, report, lines[i].site);
        wp_json_text(json, "category", wp_category_key(lines[i].category));
        wp_json_number(json, "total_ns", lines[i].total_ns);
        wp_json_number(json, "run_ns", lines[i].run_ns);
        wp_json_number(json, "self_ns", lines[i].self_ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_calls(struct wp_json *json, const struct wp_report *report)
{
    uint32_t count;
    wp_json_array(json, "calls");
    const struct wp_report_call *calls = wp_report_calls(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        begin_at_site(json, report, calls[i].site);
        wp_json_text(json, "callee", wp_report_text(report, calls[i].callee));
        wp_json_bool(json, "is_inlined", calls[i].is_inlined);
        wp_json_number(json, "total_ns", calls[i].total_ns);
        wp_json_number(json, "run_ns", calls[i].run_ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_transactions(struct wp_json *json, const struct wp_report *report)
{
    uint32_t count;
    wp_json_array(json, "transactions");
    const struct wp_transaction *transactions = wp_report_transactions(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "service", wp_report_text(report, transactions[i].service));
        wp_json_text(json, "who", wp_report_text(report, transactions[i].who));
        wp_json_text(json, "what", wp_report_text(report, transactions[i].what));
        wp_json_text(json, "part", wp_transaction_part_key(transactions[i].part));
        wp_json_number(json, "at_least_ns", wp_latency_floor(transactions[i].bucket));
        wp_json_number(json, "ns", transactions[i].ns);
        wp_json_number(json, "count", transactions[i].count);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_slowest(struct wp_json *json, const struct wp_report *report)
{
    uint32_t count;
    wp_json_array(json, "slowest_transactions");
    const struct wp_slowest *slowest = wp_report_slowest(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "service", wp_report_text(report, slowest[i].service));
        wp_json_number(json, "start_ns", slowest[i].start_ns);
        wp_json_number(json, "ns", slowest[i].ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_events(struct wp_json *json, const struct wp_report *report)
{
    uint32_t count;
    wp_json_array(json, "events");
    const struct wp_event_count *events = wp_report_event_counts(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "kind", wp_report_text(report, events[i].kind));
        wp_json_number(json, "total", events[i].total);
        wp_json_number(json, "dropped", events[i].dropped);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_limits(struct wp_json *json, const struct wp_report *report)
{
    uint32_t count;
    wp_json_array(json, "limits");
    const struct wp_limit_count *limits = wp_report_limits(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "name", wp_report_text(report, limits[i].name));
        wp_json_number(json, "count", limits[i].count);
        wp_json_number(json, "ns", limits[i].ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_edges(struct wp_json *json, const struct wp_report *report)
{
    uint32_t count;
    wp_json_array(json, "edges");
    const struct wp_report_edge *edges = wp_report_edges(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        wp_json_object(json, NULL);
        wp_json_text(json, "from", wp_report_text(report, edges[i].from));
        wp_json_text(json, "to", wp_report_text(report, edges[i].to));
        wp_json_number(json, "messages", edges[i].messages);
        wp_json_number(json, "waited_ns", edges[i].waited_ns);
        wp_json_number(json, "transit_ns", edges[i].transit_ns);
        wp_json_number(json, "transit_max_ns", edges[i].transit_max_ns);
        wp_json_number(json, "bound_max_ns", edges[i].bound_max_ns);
        wp_json_end(json);
    }
    wp_json_end(json);
}

static void put_counts(struct wp_json *json, const struct wp_report *report)
{
    put_events(json, report);
    put_limits(json, report);
    put_edges(json, report);
    put_transactions(json, report);
    put_slowest(json, report);
    put_lines(json, report);
    put_calls(json, report);
    wp_json_exact(json, "coverage", wp_report_coverage(report));
    wp_json_number(json, "uncertain_ns", wp_report_uncertain_ns(report));
    wp_json_number(json, "detached_ns", wp_report_detached_ns(report));
}

/* Work that was started and not waited for: who started it stands outermost on its stacks. */
static int put_detached(struct wp_json *json, const struct wp_report *work)
{
    wp_json_object(json, "detached_work");
    int rc = put_times(json, work);
    wp_json_end(json);
    return rc;
}

int wp_report_json(struct wp_json *json, const struct wp_buffer *raw, struct wp_error *err)
{
    struct wp_report *report = NULL;
    struct wp_head head;
    int rc = wp_report_decode(&report, raw->data, raw->size, err);
    if (rc)
        return rc;
    wp_head_of_report(&head, report);
    wp_head_json(json, "head", &head, false);
    put_counts(json, report);
    put_processes(json, report);
    put_spans(json, report);
    put_hosts(json, report);
    rc = put_times(json, report);
    put_unexplained(json, report);
    if (!rc && wp_report_detached_work(report))
        rc = put_detached(json, wp_report_detached_work(report));
    rc = rc ? wp_error_set(err, rc, "out of memory for JSON") : 0;
    wp_report_destroy(report);
    return rc;
}
