/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/head.h"

#include "proto/store.pb-c.h"
#include "storage/report/report_read.h"
#include "storage/value/columns.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <string.h>

void wp_head_of_report(struct wp_head *head, const struct wp_report *report)
{
    uint32_t count;
    *head = (struct wp_head){.wall_ns = wp_report_wall(report)};
    const struct wp_span *spans = wp_report_spans(report, &count);
    head->first_ns = count ? spans[0].start_ns : 0;
    head->last_ns = count ? spans[count - 1].end_ns : 0;
    const struct wp_cell *cells = wp_report_cells(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        head->category_ns[cells[i].category] = wp_sum(head->category_ns[cells[i].category], cells[i].ns);
        head->total_ns = wp_sum(head->total_ns, cells[i].ns);
    }
    const struct wp_event_count *events = wp_report_event_counts(report, &count);
    for (uint32_t i = 0; i < count; i++) {
        head->events = wp_sum(head->events, events[i].total);
        head->dropped = wp_sum(head->dropped, events[i].dropped);
    }
    wp_report_hosts(report, &head->hosts);
    wp_report_processes(report, &head->processes);
    wp_report_nodes(report, &head->nodes);
    head->nodes--; /* the root is no stack */
}

void wp_head_of_trace(struct wp_head *head, const struct wp_trace *trace)
{
    *head = (struct wp_head){.first_ns = trace->start_ns,
        .last_ns = wp_sum(trace->start_ns, trace->length_ns),
        .wall_ns = trace->length_ns,
        .nodes = trace->node_count - 1,
        .pieces = trace->piece_count};
    for (uint32_t i = 0; i < trace->piece_count; i++) {
        const struct wp_trace_piece *piece = &trace->pieces[i];
        if (piece->category < WP_CATEGORIES)
            head->category_ns[piece->category] = wp_sum(head->category_ns[piece->category], piece->length_ns);
        head->total_ns = wp_sum(head->total_ns, piece->length_ns);
    }
}

int wp_head_encode(const struct wp_head *head, struct wp_buffer *out, struct wp_error *err)
{
    Wakepath__Store__Head message = WAKEPATH__STORE__HEAD__INIT;
    message.first_ns = head->first_ns;
    message.last_ns = head->last_ns;
    message.wall_ns = head->wall_ns;
    message.total_ns = head->total_ns;
    message.n_category_ns = WP_CATEGORIES;
    message.category_ns = (uint64_t *)(uintptr_t)head->category_ns;
    message.hosts = head->hosts;
    message.nodes = head->nodes;
    message.processes = head->processes;
    message.pieces = head->pieces;
    message.events = head->events;
    message.dropped = head->dropped;
    message.timebox_length_s = head->timebox_length_s;
    return wp_message_pack(&message.base, out, err);
}

int wp_head_decode(struct wp_head *head, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    ProtobufCMessage *unpacked = wp_message_unpack(&wakepath__store__head__descriptor, bytes, size, "head", err);
    if (!unpacked)
        return -errno;
    const Wakepath__Store__Head *m = (const Wakepath__Store__Head *)unpacked;
    *head = (struct wp_head){.first_ns = m->first_ns,
        .last_ns = m->last_ns,
        .wall_ns = m->wall_ns,
        .total_ns = m->total_ns,
        .hosts = m->hosts,
        .nodes = m->nodes,
        .processes = m->processes,
        .pieces = m->pieces,
        .events = m->events,
        .dropped = m->dropped,
        .timebox_length_s = m->timebox_length_s};
    for (size_t i = 0; i < m->n_category_ns && i < WP_CATEGORIES; i++)
        head->category_ns[i] = m->category_ns[i];
    protobuf_c_message_free_unpacked(unpacked, NULL);
    return 0;
}
