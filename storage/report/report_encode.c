/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/report_encode.h"

#include "proto/store.pb-c.h"
#include "storage/report/report_order.h"
#include "storage/report/report_read.h"
#include "storage/report/report_series.h"
#include "storage/value/columns.h"

#include <errno.h>

struct encoder {
    const struct wp_report *report;
    struct wp_report_order order;
    struct wp_columns columns;
    Wakepath__Store__Report message;
};

/* Makes the column `field` of the message and its count. */
#define COLUMN(encoder, kind, field, count)                                                                            \
    do {                                                                                                               \
        (encoder)->message.n_##field = (count);                                                                        \
        (encoder)->message.field = wp_columns_##kind(&(encoder)->columns, count);                                      \
    } while (0)

static void put_texts(struct encoder *encoder)
{
    const struct wp_report_order *order = &encoder->order;
    COLUMN(encoder, texts, strings, order->string_count);
    for (uint32_t i = 0; !encoder->columns.has_failed && i < order->string_count; i++) {
        uint32_t id = order->strings[i + 1];
        encoder->message.strings[i].data = (uint8_t *)(uintptr_t)wp_intern_text(encoder->report->strings, id);
        encoder->message.strings[i].len = wp_intern_size(encoder->report->strings, id);
    }
}

static void put_tree(struct encoder *encoder)
{
    const struct wp_report_order *order = &encoder->order;
    Wakepath__Store__Report *message = &encoder->message;
    uint32_t frames = order->frame_count, nodes = order->node_count;
    message->frame_style = (ProtobufCBinaryData){frames, wp_columns_bytes(&encoder->columns, frames)};
    COLUMN(encoder, u32, frame_name, frames);
    COLUMN(encoder, u32, frame_object, frames);
    COLUMN(encoder, u32, node_up, nodes);
    COLUMN(encoder, u32, node_frame, nodes);
    if (encoder->columns.has_failed)
        return;
    for (uint32_t i = 0; i < frames; i++) {
        const struct wp_frame_info *info = &encoder->report->frames[order->frames[i + 1]];
        message->frame_style.data[i] = (uint8_t)info->style;
        message->frame_name[i] = order->string_rank[info->name];
        message->frame_object[i] = order->string_rank[info->object];
    }
    for (uint32_t i = 0; i < nodes; i++) {
        const struct wp_node *node = &encoder->report->nodes[order->nodes[i + 1]];
        message->node_up[i] = i + 1 - order->node_rank[node->parent];
        message->node_frame[i] = order->frame_rank[node->frame];
    }
}

static void put_cells(struct encoder *encoder)
{
    Wakepath__Store__Report *message = &encoder->message;
    uint32_t count = encoder->order.cell_count, last = 0;
    COLUMN(encoder, u32, cell_node_step, count);
    COLUMN(encoder, u64, cell_ns, count);
    COLUMN(encoder, u64, cell_count, count);
    message->cell_category = (ProtobufCBinaryData){count, wp_columns_bytes(&encoder->columns, count)};
    for (uint32_t i = 0; !encoder->columns.has_failed && i < count; i++) {
        const struct wp_cell *cell = &encoder->report->cells[encoder->order.cells[i]];
        uint32_t node = encoder->order.node_rank[cell->node];
        message->cell_node_step[i] = node - last;
        message->cell_category.data[i] = (uint8_t)cell->category;
        message->cell_ns[i] = cell->ns;
        message->cell_count[i] = cell->count;
        last = node;
    }
}

/* Cell by cell in the order of put_cells, which has left out only cells without time. */
static void put_samples(struct encoder *encoder)
{
    Wakepath__Store__Report *message = &encoder->message;
    const struct wp_report *report = encoder->report;
    uint32_t count = report->sample_count, at = 0;
    if (!count)
        return;
    message->bucket_shift = report->bucket_shift;
    COLUMN(encoder, u64, bucket_step, report->bucket_count);
    COLUMN(encoder, u32, cell_samples, encoder->order.cell_count);
    COLUMN(encoder, u64, sample_ns, count);
    message->sample_bucket = (ProtobufCBinaryData){count, wp_columns_bytes(&encoder->columns, count)};
    if (encoder->columns.has_failed)
        return;
    for (uint32_t i = 0; i < report->bucket_count; i++)
        message->bucket_step[i] = report->buckets[i] - (i ? report->buckets[i - 1] : 0);
    for (uint32_t i = 0; i < encoder->order.cell_count; i++) {
        uint64_t sums[WP_REPORT_BUCKETS] = {0};
        for (uint32_t row = report->cell_sample[encoder->order.cells[i]]; row != WP_NO_CELL;
             row = report->samples[row].next)
            sums[wp_report_bucket_index(report, report->samples[row].bucket)] = report->samples[row].ns;
        for (uint32_t place = 0; place < report->bucket_count; place++) {
            if (!sums[place])
                continue;
            message->sample_bucket.data[at] = (uint8_t)place;
            message->sample_ns[at++] = sums[place];
            message->cell_samples[i]++;
        }
    }
}

static void put_processes(struct encoder *encoder)
{
    Wakepath__Store__Report *message = &encoder->message;
    uint32_t count = encoder->order.process_count;
    COLUMN(encoder, u32, process_host, count);
    COLUMN(encoder, u32, process_comm, count);
    COLUMN(encoder, u32, process_pid, count);
    COLUMN(encoder, u64, process_start_ns, count);
    COLUMN(encoder, u64, process_total_ns, count);
    COLUMN(encoder, u64, process_running_ns, count);
    for (uint32_t i = 0; !encoder->columns.has_failed && i < count; i++) {
        const struct wp_report_process *row = &encoder->report->processes[encoder->order.processes[i]];
        message->process_host[i] = encoder->order.string_rank[row->host];
        message->process_comm[i] = encoder->order.string_rank[row->comm];
        message->process_pid[i] = row->pid;
        message->process_start_ns[i] = row->start_ns;
        message->process_total_ns[i] = row->total_ns;
        message->process_running_ns[i] = row->running_ns;
    }
}

static void put_unexplained(struct encoder *encoder)
{
    Wakepath__Store__Report *message = &encoder->message;
    uint32_t count = encoder->order.unexplained_count;
    COLUMN(encoder, u32, unexplained_node, count);
    COLUMN(encoder, u32, unexplained_reason, count);
    COLUMN(encoder, u64, unexplained_ns, count);
    COLUMN(encoder, u64, unexplained_count, count);
    COLUMN(encoder, u32, unexplained_tid, count);
    COLUMN(encoder, u64, unexplained_longest_ns, count);
    for (uint32_t i = 0; !encoder->columns.has_failed && i < count; i++) {
        const struct wp_unexplained *row = &encoder->report->unexplained[encoder->order.unexplained[i]];
        message->unexplained_node[i] = encoder->order.node_rank[row->node];
        message->unexplained_reason[i] = encoder->order.string_rank[row->reason];
        message->unexplained_ns[i] = row->ns;
        message->unexplained_count[i] = row->count;
        message->unexplained_tid[i] = row->tid;
        message->unexplained_longest_ns[i] = row->longest_ns;
    }
}

static void put_spans_and_hosts(struct encoder *encoder)
{
    const struct wp_report *report = encoder->report;
    uint64_t last = 0;
    COLUMN(encoder, u64, span_gap_ns, report->span_count);
    COLUMN(encoder, u64, span_length_ns, report->span_count);
    COLUMN(encoder, u32, hosts, encoder->order.host_count);
    if (encoder->columns.has_failed)
        return;
    for (uint32_t i = 0; i < report->span_count; i++) {
        encoder->message.span_gap_ns[i] = report->spans[i].start_ns - last;
        encoder->message.span_length_ns[i] = report->spans[i].end_ns - report->spans[i].start_ns;
        last = report->spans[i].end_ns;
    }
    for (uint32_t i = 0; i < encoder->order.host_count; i++)
        encoder->message.hosts[i] = encoder->order.string_rank[report->hosts[encoder->order.hosts[i]]];
}

static void put_counts(struct encoder *encoder)
{
    Wakepath__Store__Report *message = &encoder->message;
    const struct wp_report_order *order = &encoder->order;
    COLUMN(encoder, u32, event_kind, order->event_count);
    COLUMN(encoder, u64, event_total, order->event_count);
    COLUMN(encoder, u64, event_dropped, order->event_count);
    COLUMN(encoder, u32, limit_name, order->limit_count);
    COLUMN(encoder, u64, limit_count, order->limit_count);
    COLUMN(encoder, u64, limit_ns, order->limit_count);
    if (encoder->columns.has_failed)
        return;
    for (uint32_t i = 0; i < order->event_count; i++) {
        const struct wp_event_count *row = &encoder->report->events[order->events[i]];
        message->event_kind[i] = order->string_rank[row->kind];
        message->event_total[i] = row->total;
        message->event_dropped[i] = row->dropped;
    }
    for (uint32_t i = 0; i < order->limit_count; i++) {
        const struct wp_limit_count *row = &encoder->report->limits[order->limits[i]];
        message->limit_name[i] = order->string_rank[row->name];
        message->limit_count[i] = row->count;
        message->limit_ns[i] = row->ns;
    }
}

static void put_edges(struct encoder *encoder)
{
    Wakepath__Store__Report *message = &encoder->message;
    const struct wp_report_order *order = &encoder->order;
    COLUMN(encoder, u32, edge_from, order->edge_count);
    COLUMN(encoder, u32, edge_to, order->edge_count);
    COLUMN(encoder, u64, edge_messages, order->edge_count);
    COLUMN(encoder, u64, edge_waited_ns, order->edge_count);
    COLUMN(encoder, u64, edge_transit_ns, order->edge_count);
    COLUMN(encoder, u64, edge_transit_max_ns, order->edge_count);
    COLUMN(encoder, u64, edge_bound_max_ns, order->edge_count);
    for (uint32_t i = 0; !encoder->columns.has_failed && i < order->edge_count; i++) {
        const struct wp_report_edge *row = &encoder->report->edges[order->edges[i]];
        message->edge_from[i] = order->string_rank[row->from];
        message->edge_to[i] = order->string_rank[row->to];
        message->edge_messages[i] = row->messages;
        message->edge_waited_ns[i] = row->waited_ns;
        message->edge_transit_ns[i] = row->transit_ns;
        message->edge_transit_max_ns[i] = row->transit_max_ns;
        message->edge_bound_max_ns[i] = row->bound_max_ns;
    }
}

static void put_transactions(struct encoder *encoder)
{
    Wakepath__Store__Report *message = &encoder->message;
    const struct wp_report_order *order = &encoder->order;
    uint32_t count = order->transaction_count;
    COLUMN(encoder, u32, transaction_service, count);
    COLUMN(encoder, u32, transaction_who, count);
    COLUMN(encoder, u32, transaction_what, count);
    COLUMN(encoder, u64, transaction_ns, count);
    COLUMN(encoder, u64, transaction_count, count);
    message->transaction_part = (ProtobufCBinaryData){count, wp_columns_bytes(&encoder->columns, count)};
    message->transaction_bucket = (ProtobufCBinaryData){count, wp_columns_bytes(&encoder->columns, count)};
    COLUMN(encoder, u32, slowest_service, order->slowest_count);
    COLUMN(encoder, u64, slowest_start_ns, order->slowest_count);
    COLUMN(encoder, u64, slowest_ns, order->slowest_count);
    if (encoder->columns.has_failed)
        return;
    for (uint32_t i = 0; i < count; i++) {
        const struct wp_transaction *row = &encoder->report->transactions[order->transactions[i]];
        message->transaction_service[i] = order->string_rank[row->service];
        message->transaction_who[i] = order->string_rank[row->who];
        message->transaction_what[i] = order->string_rank[row->what];
        message->transaction_part.data[i] = (uint8_t)row->part;
        message->transaction_bucket.data[i] = (uint8_t)row->bucket;
        message->transaction_ns[i] = row->ns;
        message->transaction_count[i] = row->count;
    }
    for (uint32_t i = 0; i < order->slowest_count; i++) {
        const struct wp_slowest *row = &encoder->report->slowest[order->slowest[i]];
        message->slowest_service[i] = order->string_rank[row->service];
        message->slowest_start_ns[i] = row->start_ns;
        message->slowest_ns[i] = row->ns;
    }
}

static void put_sites(struct encoder *encoder)
{
    Wakepath__Store__Report *message = &encoder->message;
    const struct wp_report_order *order = &encoder->order;
    COLUMN(encoder, u32, site_file, order->site_count);
    COLUMN(encoder, u32, site_line, order->site_count);
    COLUMN(encoder, u32, site_function, order->site_count);
    for (uint32_t i = 0; !encoder->columns.has_failed && i < order->site_count; i++) {
        const struct wp_report_site *site = &encoder->report->sites[order->sites[i + 1]];
        message->site_file[i] = order->string_rank[site->file];
        message->site_line[i] = site->line;
        message->site_function[i] = order->string_rank[site->function];
    }
}

static void put_lines(struct encoder *encoder)
{
    Wakepath__Store__Report *message = &encoder->message;
    const struct wp_report_order *order = &encoder->order;
    uint32_t count = order->line_count, last = 0;
    COLUMN(encoder, u32, line_site_step, count);
    COLUMN(encoder, u64, line_total_ns, count);
    COLUMN(encoder, u64, line_run_ns, count);
    COLUMN(encoder, u64, line_self_ns, count);
    message->line_category = (ProtobufCBinaryData){count, wp_columns_bytes(&encoder->columns, count)};
    for (uint32_t i = 0; !encoder->columns.has_failed && i < count; i++) {
        const struct wp_report_line *row = &encoder->report->lines[order->lines[i]];
        message->line_site_step[i] = order->site_rank[row->site] - last;
        message->line_category.data[i] = (uint8_t)row->category;
        message->line_total_ns[i] = row->total_ns;
        message->line_run_ns[i] = row->run_ns;
        message->line_self_ns[i] = row->self_ns;
        last = order->site_rank[row->site];
    }
}

static void put_calls(struct encoder *encoder)
{
    Wakepath__Store__Report *message = &encoder->message;
    const struct wp_report_order *order = &encoder->order;
    uint32_t count = order->call_count, last = 0;
    COLUMN(encoder, u32, call_site_step, count);
    COLUMN(encoder, u32, call_callee, count);
    COLUMN(encoder, u64, call_total_ns, count);
    COLUMN(encoder, u64, call_run_ns, count);
    message->call_style = (ProtobufCBinaryData){count, wp_columns_bytes(&encoder->columns, count)};
    message->call_inlined = (ProtobufCBinaryData){count, wp_columns_bytes(&encoder->columns, count)};
    for (uint32_t i = 0; !encoder->columns.has_failed && i < count; i++) {
        const struct wp_report_call *row = &encoder->report->calls[order->calls[i]];
        message->call_site_step[i] = order->site_rank[row->site] - last;
        message->call_callee[i] = order->string_rank[row->callee];
        message->call_style.data[i] = (uint8_t)row->style;
        message->call_inlined.data[i] = (uint8_t)row->is_inlined;
        message->call_total_ns[i] = row->total_ns;
        message->call_run_ns[i] = row->run_ns;
        last = order->site_rank[row->site];
    }
}

/* `work`: the report of detached work, packed; empty when there is none. */
static int pack_one(const struct wp_report *report, const struct wp_buffer *work, struct wp_buffer *out,
    uint32_t *nodes, struct wp_error *err)
{
    struct encoder encoder = {.report = report};
    wakepath__store__report__init(&encoder.message);
    if (report->has_failed || wp_report_order_init(&encoder.order, report))
        return wp_error_set(err, -ENOMEM, "out of memory for a report of %u stacks", report->node_count);
    *nodes = encoder.order.node_count;
    put_texts(&encoder);
    put_tree(&encoder);
    put_cells(&encoder);
    put_samples(&encoder);
    put_processes(&encoder);
    put_unexplained(&encoder);
    put_spans_and_hosts(&encoder);
    put_counts(&encoder);
    put_edges(&encoder);
    put_transactions(&encoder);
    put_sites(&encoder);
    put_lines(&encoder);
    put_calls(&encoder);
    encoder.message.recorded_ns = report->recorded_ns;
    encoder.message.window_ns = report->window_ns;
    encoder.message.uncertain_ns = report->uncertain_ns;
    encoder.message.detached_ns = report->detached_ns;
    encoder.message.detached_work = (ProtobufCBinaryData){work->size, work->data};
    int rc = encoder.columns.has_failed
        ? wp_error_set(err, -ENOMEM, "out of memory for a report of %u stacks", report->node_count)
        : wp_message_pack(&encoder.message.base, out, err);
    wp_columns_fini(&encoder.columns);
    wp_report_order_fini(&encoder.order);
    return rc;
}

int wp_report_pack(const struct wp_report *report, struct wp_buffer *out, uint32_t *nodes, struct wp_error *err)
{
    struct wp_buffer work = {0};
    const struct wp_buffer none = {0};
    uint32_t work_nodes;
    int rc = wp_report_detached_work(report) ? pack_one(report->detached, &none, &work, &work_nodes, err) : 0;
    if (!rc)
        rc = pack_one(report, &work, out, nodes, err);
    wp_buffer_fini(&work);
    return rc;
}

int wp_report_encode(const struct wp_report *report, struct wp_buffer *out, struct wp_error *err)
{
    uint32_t nodes;
    return wp_report_pack(report, out, &nodes, err);
}
