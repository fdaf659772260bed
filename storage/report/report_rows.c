/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/report_rows.h"

#include <errno.h>
#include <string.h>

struct wp_tree_rows wp_report_tree(struct wp_report *report)
{
    return (struct wp_tree_rows){&report->tree, &report->frames, &report->nodes, &report->frame_count,
        &report->frame_room, &report->node_count, &report->node_room};
}

uint32_t wp_report_cell_add(
    struct wp_report *report, uint32_t node, enum wp_category category, uint64_t ns, uint64_t count)
{
    if (node >= report->node_count || (unsigned)category >= WP_CATEGORIES)
        return wp_report_checked(report, WP_NO_CELL);
    uint32_t cell = report->node_cell[node];
    while (cell != WP_NO_CELL && report->cells[cell].category != (uint32_t)category)
        cell = report->cell_next[cell];
    if (cell == WP_NO_CELL) {
        cell = report->cell_count;
        if (wp_rows_grow(&report->cells, &report->cell_room, cell, sizeof(*report->cells)) ||
            wp_rows_grow(&report->cell_next, &report->cell_next_room, cell, sizeof(*report->cell_next)) ||
            wp_rows_grow(&report->cell_sample, &report->cell_sample_room, cell, sizeof(*report->cell_sample)))
            return wp_report_checked(report, WP_NO_CELL);
        report->cells[cell] = (struct wp_cell){node, category, 0, 0};
        report->cell_next[cell] = report->node_cell[node];
        report->cell_sample[cell] = WP_NO_CELL;
        report->node_cell[node] = cell;
        report->cell_count++;
    }
    report->cells[cell].ns = wp_sum(report->cells[cell].ns, ns);
    report->cells[cell].count = wp_sum(report->cells[cell].count, count);
    return cell;
}

uint32_t wp_report_process_row(struct wp_report *report, const struct wp_report_process *key)
{
    bool is_new;
    uint32_t pair =
        wp_report_find_row(&report->names, (struct wp_intkey){key->host, key->comm}, report->names.count, &is_new);
    if (pair == UINT32_MAX ||
        wp_rows_grow(&report->processes, &report->process_room, report->process_count, sizeof(*report->processes)))
        return wp_report_checked(report, UINT32_MAX);
    uint32_t row = wp_report_find_row(&report->by_process, (struct wp_intkey){key->start_ns, wp_pair(pair, key->pid)},
        report->process_count, &is_new);
    if (is_new && row != UINT32_MAX)
        report->processes[report->process_count++] =
            (struct wp_report_process){key->host, key->comm, key->pid, key->start_ns, 0, 0};
    return wp_report_checked(report, row);
}

void wp_report_unexplained_add(struct wp_report *report, const struct wp_unexplained *add)
{
    bool is_new;
    if (add->node >= report->node_count ||
        wp_rows_grow(
            &report->unexplained, &report->unexplained_room, report->unexplained_count, sizeof(*report->unexplained))) {
        report->has_failed = true;
        return;
    }
    uint32_t row = wp_report_find_row(
        &report->by_unexplained, (struct wp_intkey){add->node, add->reason}, report->unexplained_count, &is_new);
    if (wp_report_checked(report, row) == UINT32_MAX)
        return;
    if (is_new)
        report->unexplained[report->unexplained_count++] =
            (struct wp_unexplained){.node = add->node, .reason = add->reason};
    struct wp_unexplained *sum = &report->unexplained[row];
    sum->ns = wp_sum(sum->ns, add->ns);
    sum->count = wp_sum(sum->count, add->count);
    if (add->longest_ns > sum->longest_ns || (add->longest_ns == sum->longest_ns && add->tid > sum->tid)) {
        sum->longest_ns = add->longest_ns;
        sum->tid = add->tid;
    }
    report->largest_is_fresh = false;
}

void wp_report_host_add(struct wp_report *report, uint32_t string)
{
    bool is_new;
    if (string == UINT32_MAX ||
        wp_rows_grow(&report->hosts, &report->host_room, report->host_count, sizeof(*report->hosts))) {
        report->has_failed = true;
        return;
    }
    uint32_t row = wp_report_find_row(&report->by_host, (struct wp_intkey){string, 0}, report->host_count, &is_new);
    if (wp_report_checked(report, row) != UINT32_MAX && is_new)
        report->hosts[report->host_count++] = string;
}

void wp_report_event_add(struct wp_report *report, const struct wp_event_count *add)
{
    bool is_new;
    if (add->kind == UINT32_MAX ||
        wp_rows_grow(&report->events, &report->event_room, report->event_count, sizeof(*report->events))) {
        report->has_failed = true;
        return;
    }
    uint32_t row =
        wp_report_find_row(&report->by_event, (struct wp_intkey){add->kind, 0}, report->event_count, &is_new);
    if (wp_report_checked(report, row) == UINT32_MAX)
        return;
    if (is_new)
        report->events[report->event_count++] = (struct wp_event_count){add->kind, 0, 0};
    report->events[row].total = wp_sum(report->events[row].total, add->total);
    report->events[row].dropped = wp_sum(report->events[row].dropped, add->dropped);
}

void wp_report_limit_add(struct wp_report *report, const struct wp_limit_count *add)
{
    bool is_new;
    if (add->name == UINT32_MAX ||
        wp_rows_grow(&report->limits, &report->limit_room, report->limit_count, sizeof(*report->limits))) {
        report->has_failed = true;
        return;
    }
    uint32_t row =
        wp_report_find_row(&report->by_limit, (struct wp_intkey){add->name, 0}, report->limit_count, &is_new);
    if (wp_report_checked(report, row) == UINT32_MAX)
        return;
    if (is_new)
        report->limits[report->limit_count++] = (struct wp_limit_count){add->name, 0, 0};
    report->limits[row].count = wp_sum(report->limits[row].count, add->count);
    report->limits[row].ns = wp_sum(report->limits[row].ns, add->ns);
}

static uint64_t larger(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

void wp_report_edge_add(struct wp_report *report, const struct wp_report_edge *add)
{
    bool is_new;
    if (!add->messages)
        return;
    if (add->from == UINT32_MAX || add->to == UINT32_MAX ||
        wp_rows_grow(&report->edges, &report->edge_room, report->edge_count, sizeof(*report->edges))) {
        report->has_failed = true;
        return;
    }
    uint32_t index =
        wp_report_find_row(&report->by_edge, (struct wp_intkey){add->from, add->to}, report->edge_count, &is_new);
    if (wp_report_checked(report, index) == UINT32_MAX)
        return;
    if (is_new)
        report->edges[report->edge_count++] = (struct wp_report_edge){.from = add->from, .to = add->to};
    struct wp_report_edge *row = &report->edges[index];
    row->messages = wp_sum(row->messages, add->messages);
    row->waited_ns = wp_sum(row->waited_ns, add->waited_ns);
    row->transit_ns = wp_sum(row->transit_ns, add->transit_ns);
    row->transit_max_ns = larger(row->transit_max_ns, add->transit_max_ns);
    row->bound_max_ns = larger(row->bound_max_ns, add->bound_max_ns);
}
