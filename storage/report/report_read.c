/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/report/report_read.h"

#include "storage/report/report_body.h"

#include <stdlib.h>
#include <string.h>

uint64_t wp_report_wall(const struct wp_report *report)
{
    uint64_t wall = 0;
    for (uint32_t i = 0; i < report->span_count; i++)
        wall += report->spans[i].end_ns - report->spans[i].start_ns;
    return wall;
}

uint64_t wp_report_total(const struct wp_report *report)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < report->cell_count; i++)
        total = wp_sum(total, report->cells[i].ns);
    return total;
}

uint64_t wp_report_category(const struct wp_report *report, enum wp_category category)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < report->cell_count; i++)
        if (report->cells[i].category == (uint32_t)category)
            total = wp_sum(total, report->cells[i].ns);
    return total;
}

uint64_t wp_report_uncertain_ns(const struct wp_report *report)
{
    return report->uncertain_ns;
}

uint64_t wp_report_detached_ns(const struct wp_report *report)
{
    return report->detached_ns;
}

const struct wp_report *wp_report_detached_work(const struct wp_report *report)
{
    return report->detached && report->detached->cell_count ? report->detached : NULL;
}

double wp_report_coverage(const struct wp_report *report)
{
    if (!report->window_ns || report->recorded_ns >= report->window_ns)
        return 1;
    return (double)report->recorded_ns / (double)report->window_ns;
}

const char *wp_report_text(const struct wp_report *report, uint32_t string)
{
    return wp_intern_text(report->strings, string);
}

const struct wp_frame_info *wp_report_frames(const struct wp_report *report, uint32_t *count)
{
    *count = report->frame_count;
    return report->frames;
}

const struct wp_node *wp_report_nodes(const struct wp_report *report, uint32_t *count)
{
    *count = report->node_count;
    return report->nodes;
}

const struct wp_cell *wp_report_cells(const struct wp_report *report, uint32_t *count)
{
    *count = report->cell_count;
    return report->cells;
}

const struct wp_report_process *wp_report_processes(const struct wp_report *report, uint32_t *count)
{
    *count = report->process_count;
    return report->processes;
}

/* Ties by place: nodes of a decoded report stand in canonical order, so that the answer does not depend on history. */
static int compare_largest(const void *left, const void *right)
{
    const struct wp_unexplained *a = left, *b = right;
    if (a->ns != b->ns)
        return a->ns > b->ns ? -1 : 1;
    if (a->node != b->node)
        return a->node < b->node ? -1 : 1;
    return a->reason < b->reason ? -1 : a->reason > b->reason;
}

const struct wp_unexplained *wp_report_unexplained_rows(const struct wp_report *report, uint32_t *count)
{
    if (!report->largest_is_fresh) {
        struct wp_report *cache = (struct wp_report *)(uintptr_t)report; /* only the view, not the content */
        cache->largest_count = 0;
        struct wp_unexplained *rows =
            reallocarray(cache->largest, report->unexplained_count + (size_t)1, sizeof(*rows));
        if (rows) {
            if (report->unexplained_count)
                memcpy(rows, report->unexplained, report->unexplained_count * sizeof(*rows));
            qsort(rows, report->unexplained_count, sizeof(*rows), compare_largest);
            cache->largest = rows;
            cache->largest_count =
                report->unexplained_count < WP_REPORT_UNEXPLAINED ? report->unexplained_count : WP_REPORT_UNEXPLAINED;
            cache->largest_is_fresh = true;
        }
    }
    *count = report->largest_count;
    return report->largest;
}

const struct wp_span *wp_report_spans(const struct wp_report *report, uint32_t *count)
{
    *count = report->span_count;
    return report->spans;
}

const uint32_t *wp_report_hosts(const struct wp_report *report, uint32_t *count)
{
    *count = report->host_count;
    return report->hosts;
}

const struct wp_event_count *wp_report_event_counts(const struct wp_report *report, uint32_t *count)
{
    *count = report->event_count;
    return report->events;
}

const struct wp_report_edge *wp_report_edges(const struct wp_report *report, uint32_t *count)
{
    *count = report->edge_count;
    return report->edges;
}

const struct wp_limit_count *wp_report_limits(const struct wp_report *report, uint32_t *count)
{
    *count = report->limit_count;
    return report->limits;
}
