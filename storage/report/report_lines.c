/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of source in a report: places, the time that stood on them, and what was called there. Rows that add up. */
#include "storage/report/report_lines.h"

#include "storage/report/report_body.h"

uint32_t wp_report_site_row(struct wp_report *report, const struct wp_report_site *key)
{
    bool is_new;
    uint32_t row = UINT32_MAX;
    if (key->file != UINT32_MAX && key->function != UINT32_MAX &&
        !wp_rows_grow(&report->sites, &report->site_room, report->site_count, sizeof(*report->sites)))
        row = wp_report_find_row(&report->by_site, (struct wp_intkey){wp_pair(key->file, key->line), key->function},
            report->site_count, &is_new);
    if (row == UINT32_MAX)
        report->has_failed = true;
    else if (is_new)
        report->sites[report->site_count++] = *key;
    return row;
}

uint32_t wp_report_site(struct wp_report *report, const char *file, uint32_t line, const char *function)
{
    return wp_report_site_row(
        report, &(struct wp_report_site){wp_report_string(report, file), line, wp_report_string(report, function)});
}

void wp_report_line_add(struct wp_report *report, const struct wp_report_line *add)
{
    bool is_new;
    uint32_t row = UINT32_MAX;
    if (add->site < report->site_count && add->category < WP_CATEGORIES &&
        !wp_rows_grow(&report->lines, &report->line_room, report->line_count, sizeof(*report->lines)))
        row = wp_report_find_row(
            &report->by_line, (struct wp_intkey){add->site, add->category}, report->line_count, &is_new);
    if (row == UINT32_MAX) {
        report->has_failed = true;
        return;
    }
    if (is_new)
        report->lines[report->line_count++] = (struct wp_report_line){.site = add->site, .category = add->category};
    report->lines[row].total_ns = wp_sum(report->lines[row].total_ns, add->total_ns);
    report->lines[row].run_ns = wp_sum(report->lines[row].run_ns, add->run_ns);
    report->lines[row].self_ns = wp_sum(report->lines[row].self_ns, add->self_ns);
}

void wp_report_call_add(struct wp_report *report, const struct wp_report_call *add)
{
    bool is_new;
    uint32_t row = UINT32_MAX;
    if (add->site < report->site_count && add->callee != UINT32_MAX && add->style < WP_STYLES && add->is_inlined <= 1 &&
        !wp_rows_grow(&report->calls, &report->call_room, report->call_count, sizeof(*report->calls)))
        row = wp_report_find_row(&report->by_call,
            (struct wp_intkey){wp_pair(add->site, add->callee), add->style << 1 | add->is_inlined}, report->call_count,
            &is_new);
    if (row == UINT32_MAX) {
        report->has_failed = true;
        return;
    }
    if (is_new)
        report->calls[report->call_count++] = (struct wp_report_call){
            .site = add->site, .callee = add->callee, .style = add->style, .is_inlined = add->is_inlined};
    report->calls[row].total_ns = wp_sum(report->calls[row].total_ns, add->total_ns);
    report->calls[row].run_ns = wp_sum(report->calls[row].run_ns, add->run_ns);
}

const struct wp_report_site *wp_report_sites(const struct wp_report *report, uint32_t *count)
{
    *count = report->site_count;
    return report->sites;
}

const struct wp_report_line *wp_report_lines(const struct wp_report *report, uint32_t *count)
{
    *count = report->line_count;
    return report->lines;
}

const struct wp_report_call *wp_report_calls(const struct wp_report *report, uint32_t *count)
{
    *count = report->call_count;
    return report->calls;
}
