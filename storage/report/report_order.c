/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/report_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct sorter {
    const struct wp_report *report;
    struct wp_report_order *order;
};

#define COMPARE(a, b)                                                                                                  \
    do {                                                                                                               \
        if ((a) != (b))                                                                                                \
            return (a) < (b) ? -1 : 1;                                                                                 \
    } while (0)

static int compare_strings(const void *left, const void *right, void *context)
{
    const struct wp_intern *strings = ((const struct sorter *)context)->report->strings;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return wp_rows_compare_texts(strings, a, b);
}

static int compare_frames(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const uint32_t *rank = sorter->order->string_rank;
    const struct wp_frame_info *a = &sorter->report->frames[*(const uint32_t *)left];
    const struct wp_frame_info *b = &sorter->report->frames[*(const uint32_t *)right];
    COMPARE(a->style, b->style);
    COMPARE(rank[a->name], rank[b->name]);
    COMPARE(rank[a->object], rank[b->object]);
    return 0;
}

/* By parent, and among its children the last frame first: as they go on a stack to come off in order. */
static int compare_siblings(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const struct wp_node *a = &sorter->report->nodes[*(const uint32_t *)left];
    const struct wp_node *b = &sorter->report->nodes[*(const uint32_t *)right];
    COMPARE(a->parent, b->parent);
    COMPARE(sorter->order->frame_rank[b->frame], sorter->order->frame_rank[a->frame]);
    return 0;
}

static int compare_cells(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const struct wp_cell *a = &sorter->report->cells[*(const uint32_t *)left];
    const struct wp_cell *b = &sorter->report->cells[*(const uint32_t *)right];
    COMPARE(sorter->order->node_rank[a->node], sorter->order->node_rank[b->node]);
    COMPARE(a->category, b->category);
    return 0;
}

static int compare_processes(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const uint32_t *rank = sorter->order->string_rank;
    const struct wp_report_process *a = &sorter->report->processes[*(const uint32_t *)left];
    const struct wp_report_process *b = &sorter->report->processes[*(const uint32_t *)right];
    COMPARE(rank[a->host], rank[b->host]);
    COMPARE(rank[a->comm], rank[b->comm]);
    COMPARE(a->pid, b->pid);
    COMPARE(a->start_ns, b->start_ns);
    return 0;
}

static int compare_unexplained(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const struct wp_unexplained *a = &sorter->report->unexplained[*(const uint32_t *)left];
    const struct wp_unexplained *b = &sorter->report->unexplained[*(const uint32_t *)right];
    COMPARE(sorter->order->node_rank[a->node], sorter->order->node_rank[b->node]);
    COMPARE(sorter->order->string_rank[a->reason], sorter->order->string_rank[b->reason]);
    return 0;
}

static int compare_hosts(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const uint32_t *rank = sorter->order->string_rank, *hosts = sorter->report->hosts;
    COMPARE(rank[hosts[*(const uint32_t *)left]], rank[hosts[*(const uint32_t *)right]]);
    return 0;
}

static int compare_events(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const uint32_t *rank = sorter->order->string_rank;
    const struct wp_event_count *events = sorter->report->events;
    COMPARE(rank[events[*(const uint32_t *)left].kind], rank[events[*(const uint32_t *)right].kind]);
    return 0;
}

static int compare_limits(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const uint32_t *rank = sorter->order->string_rank;
    const struct wp_limit_count *limits = sorter->report->limits;
    COMPARE(rank[limits[*(const uint32_t *)left].name], rank[limits[*(const uint32_t *)right].name]);
    return 0;
}

static int compare_edges(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const uint32_t *rank = sorter->order->string_rank;
    const struct wp_report_edge *edges = sorter->report->edges;
    const struct wp_report_edge *a = &edges[*(const uint32_t *)left], *b = &edges[*(const uint32_t *)right];
    COMPARE(rank[a->from], rank[b->from]);
    COMPARE(rank[a->to], rank[b->to]);
    return 0;
}

static int compare_transactions(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const uint32_t *rank = sorter->order->string_rank;
    const struct wp_transaction *a = &sorter->report->transactions[*(const uint32_t *)left];
    const struct wp_transaction *b = &sorter->report->transactions[*(const uint32_t *)right];
    COMPARE(rank[a->service], rank[b->service]);
    COMPARE(rank[a->who], rank[b->who]);
    COMPARE(rank[a->what], rank[b->what]);
    COMPARE(a->part, b->part);
    COMPARE(a->bucket, b->bucket);
    return 0;
}

static int compare_slowest(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const uint32_t *rank = sorter->order->string_rank;
    const struct wp_slowest *slowest = sorter->report->slowest;
    COMPARE(rank[slowest[*(const uint32_t *)left].service], rank[slowest[*(const uint32_t *)right].service]);
    return 0;
}

static int compare_sites(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const uint32_t *rank = sorter->order->string_rank;
    const struct wp_report_site *a = &sorter->report->sites[*(const uint32_t *)left];
    const struct wp_report_site *b = &sorter->report->sites[*(const uint32_t *)right];
    COMPARE(rank[a->file], rank[b->file]);
    COMPARE(a->line, b->line);
    COMPARE(rank[a->function], rank[b->function]);
    return 0;
}

static int compare_lines(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const struct wp_report_line *a = &sorter->report->lines[*(const uint32_t *)left];
    const struct wp_report_line *b = &sorter->report->lines[*(const uint32_t *)right];
    COMPARE(sorter->order->site_rank[a->site], sorter->order->site_rank[b->site]);
    COMPARE(a->category, b->category);
    return 0;
}

static int compare_calls(const void *left, const void *right, void *context)
{
    const struct sorter *sorter = context;
    const struct wp_report_call *a = &sorter->report->calls[*(const uint32_t *)left];
    const struct wp_report_call *b = &sorter->report->calls[*(const uint32_t *)right];
    COMPARE(sorter->order->site_rank[a->site], sorter->order->site_rank[b->site]);
    COMPARE(sorter->order->string_rank[a->callee], sorter->order->string_rank[b->callee]);
    COMPARE(a->style, b->style);
    COMPARE(a->is_inlined, b->is_inlined);
    return 0;
}

static int allocate(struct wp_report_order *order, const struct wp_report *report)
{
    size_t strings = wp_intern_count(report->strings) + (size_t)1, frames = report->frame_count;
    size_t nodes = report->node_count + (size_t)1;
    const struct {
        uint32_t **rows;
        size_t count;
    } parts[] = {{&order->strings, strings}, {&order->string_rank, strings}, {&order->frames, frames},
        {&order->frame_rank, frames}, {&order->nodes, nodes}, {&order->node_rank, nodes},
        {&order->cells, report->cell_count}, {&order->processes, report->process_count},
        {&order->unexplained, report->unexplained_count}, {&order->hosts, report->host_count},
        {&order->events, report->event_count}, {&order->limits, report->limit_count},
        {&order->edges, report->edge_count}, {&order->transactions, report->transaction_count},
        {&order->slowest, report->slowest_count}, {&order->sites, report->site_count + (size_t)1},
        {&order->site_rank, report->site_count + (size_t)1}, {&order->lines, report->line_count},
        {&order->calls, report->call_count}};
    size_t total = 0;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
        total += parts[i].count;
    uint32_t *block = calloc(total, sizeof(*block));
    if (!block)
        return -ENOMEM;
    order->block = block;
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        *parts[i].rows = block;
        block += parts[i].count;
    }
    return 0;
}

/* Marks (rank 1) the sites that are needed. */
static void choose_lines(struct wp_report_order *order, const struct wp_report *report)
{
    for (uint32_t i = 0; i < report->line_count; i++)
        if (report->lines[i].total_ns || report->lines[i].run_ns || report->lines[i].self_ns) {
            order->lines[order->line_count++] = i;
            order->site_rank[report->lines[i].site] = 1;
        }
    for (uint32_t i = 0; i < report->call_count; i++)
        if (report->calls[i].total_ns || report->calls[i].run_ns) {
            order->calls[order->call_count++] = i;
            order->site_rank[report->calls[i].site] = 1;
        }
    for (uint32_t i = 0; i < report->site_count; i++)
        if (order->site_rank[i])
            order->sites[++order->site_count] = i;
}

/* Keeps the rows that say something and marks (rank 1) the nodes they stand on, with their ancestors. */
static void choose_rows(struct wp_report_order *order, const struct wp_report *report)
{
    for (uint32_t i = 0; i < report->cell_count; i++) {
        if (report->cells[i].ns || report->cells[i].count) {
            order->cells[order->cell_count++] = i;
            order->node_rank[report->cells[i].node] = 1;
        }
    }
    for (uint32_t i = 0; i < report->unexplained_count; i++) {
        if (report->unexplained[i].ns || report->unexplained[i].count) {
            order->unexplained[order->unexplained_count++] = i;
            order->node_rank[report->unexplained[i].node] = 1;
        }
    }
    for (uint32_t i = report->node_count; i-- > 1;)
        if (order->node_rank[i])
            order->node_rank[report->nodes[i].parent] = 1;
    for (uint32_t i = 0; i < report->process_count; i++)
        order->processes[order->process_count++] = i;
    for (uint32_t i = 0; i < report->host_count; i++)
        order->hosts[order->host_count++] = i;
    for (uint32_t i = 0; i < report->event_count; i++)
        if (report->events[i].total || report->events[i].dropped)
            order->events[order->event_count++] = i;
    for (uint32_t i = 0; i < report->limit_count; i++)
        if (report->limits[i].count || report->limits[i].ns)
            order->limits[order->limit_count++] = i;
    for (uint32_t i = 0; i < report->edge_count; i++)
        if (report->edges[i].messages)
            order->edges[order->edge_count++] = i;
    for (uint32_t i = 0; i < report->transaction_count; i++)
        if (report->transactions[i].ns || report->transactions[i].count)
            order->transactions[order->transaction_count++] = i;
    for (uint32_t i = 0; i < report->slowest_count; i++)
        order->slowest[order->slowest_count++] = i;
    choose_lines(order, report);
}

static void rank_strings(struct sorter *sorter)
{
    struct wp_report_order *order = sorter->order;
    const struct wp_report *report = sorter->report;
    uint32_t *rank = order->string_rank;
    for (uint32_t i = 1; i < report->frame_count; i++)
        if (order->frame_rank[i])
            rank[report->frames[i].name] = rank[report->frames[i].object] = 1;
    for (uint32_t i = 0; i < order->process_count; i++)
        rank[report->processes[i].host] = rank[report->processes[i].comm] = 1;
    for (uint32_t i = 0; i < order->unexplained_count; i++)
        rank[report->unexplained[order->unexplained[i]].reason] = 1;
    for (uint32_t i = 0; i < order->host_count; i++)
        rank[report->hosts[i]] = 1;
    for (uint32_t i = 0; i < order->event_count; i++)
        rank[report->events[order->events[i]].kind] = 1;
    for (uint32_t i = 0; i < order->limit_count; i++)
        rank[report->limits[order->limits[i]].name] = 1;
    for (uint32_t i = 0; i < order->edge_count; i++)
        rank[report->edges[order->edges[i]].from] = rank[report->edges[order->edges[i]].to] = 1;
    for (uint32_t i = 0; i < order->transaction_count; i++) {
        const struct wp_transaction *row = &report->transactions[order->transactions[i]];
        rank[row->service] = rank[row->who] = rank[row->what] = 1;
    }
    for (uint32_t i = 0; i < order->slowest_count; i++)
        rank[report->slowest[i].service] = 1;
    for (uint32_t i = 1; i <= order->site_count; i++)
        rank[report->sites[order->sites[i]].file] = rank[report->sites[order->sites[i]].function] = 1;
    for (uint32_t i = 0; i < order->call_count; i++)
        rank[report->calls[order->calls[i]].callee] = 1;
    for (uint32_t i = 1; i < wp_intern_count(report->strings); i++)
        if (rank[i])
            order->strings[++order->string_count] = i;
    qsort_r(order->strings + 1, order->string_count, sizeof(uint32_t), compare_strings, sorter);
    rank[0] = 0;
    for (uint32_t i = 1; i <= order->string_count; i++)
        rank[order->strings[i]] = i;
}

static void rank_frames(struct sorter *sorter)
{
    struct wp_report_order *order = sorter->order;
    for (uint32_t i = 1; i < sorter->report->frame_count; i++)
        if (order->frame_rank[i])
            order->frames[++order->frame_count] = i;
    qsort_r(order->frames + 1, order->frame_count, sizeof(uint32_t), compare_frames, sorter);
    for (uint32_t i = 1; i <= order->frame_count; i++)
        order->frame_rank[order->frames[i]] = i;
}

static void rank_sites(struct sorter *sorter)
{
    struct wp_report_order *order = sorter->order;
    qsort_r(order->sites + 1, order->site_count, sizeof(uint32_t), compare_sites, sorter);
    for (uint32_t i = 1; i <= order->site_count; i++)
        order->site_rank[order->sites[i]] = i;
    qsort_r(order->lines, order->line_count, sizeof(uint32_t), compare_lines, sorter);
    qsort_r(order->calls, order->call_count, sizeof(uint32_t), compare_calls, sorter);
}

/* Depth first. `sorted` holds the nodes family by family; `family` says where a parent's children start (+ 1). */
static int rank_nodes(struct sorter *sorter)
{
    struct wp_report_order *order = sorter->order;
    const struct wp_node *nodes = sorter->report->nodes;
    uint32_t count = sorter->report->node_count, sorted_count = 0, depth = 0;
    uint32_t *sorted = calloc((size_t)count * 3, sizeof(*sorted));
    if (!sorted)
        return -ENOMEM;
    uint32_t *family = sorted + count, *stack = family + count;
    for (uint32_t i = 1; i < count; i++)
        if (order->node_rank[i])
            sorted[sorted_count++] = i;
    qsort_r(sorted, sorted_count, sizeof(*sorted), compare_siblings, sorter);
    for (uint32_t i = sorted_count; i-- > 0;)
        family[nodes[sorted[i]].parent] = i + 1;
    for (uint32_t node = 0, first = 1;; first = 0) {
        for (uint32_t i = family[node]; i && i <= sorted_count && nodes[sorted[i - 1]].parent == node; i++)
            stack[depth++] = sorted[i - 1];
        if (!first) {
            order->nodes[++order->node_count] = node;
            order->node_rank[node] = order->node_count;
        }
        if (!depth)
            break;
        node = stack[--depth];
    }
    order->node_rank[0] = 0;
    free(sorted);
    return 0;
}

int wp_report_order_init(struct wp_report_order *order, const struct wp_report *report)
{
    struct sorter sorter = {report, order};
    *order = (struct wp_report_order){0};
    if (allocate(order, report))
        return -ENOMEM;
    choose_rows(order, report);
    for (uint32_t i = 1; i < report->node_count; i++)
        if (order->node_rank[i])
            order->frame_rank[report->nodes[i].frame] = 1;
    rank_strings(&sorter);
    rank_frames(&sorter);
    rank_sites(&sorter);
    if (rank_nodes(&sorter)) {
        wp_report_order_fini(order);
        return -ENOMEM;
    }
    qsort_r(order->cells, order->cell_count, sizeof(uint32_t), compare_cells, &sorter);
    qsort_r(order->processes, order->process_count, sizeof(uint32_t), compare_processes, &sorter);
    qsort_r(order->unexplained, order->unexplained_count, sizeof(uint32_t), compare_unexplained, &sorter);
    qsort_r(order->hosts, order->host_count, sizeof(uint32_t), compare_hosts, &sorter);
    qsort_r(order->events, order->event_count, sizeof(uint32_t), compare_events, &sorter);
    qsort_r(order->limits, order->limit_count, sizeof(uint32_t), compare_limits, &sorter);
    qsort_r(order->edges, order->edge_count, sizeof(uint32_t), compare_edges, &sorter);
    qsort_r(order->transactions, order->transaction_count, sizeof(uint32_t), compare_transactions, &sorter);
    qsort_r(order->slowest, order->slowest_count, sizeof(uint32_t), compare_slowest, &sorter);
    return 0;
}

void wp_report_order_fini(struct wp_report_order *order)
{
    free(order->block);
    *order = (struct wp_report_order){0};
}
