/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions in a report: rows that add up, and the slowest of each service. */
#include "storage/report/report_transactions.h"

#include "storage/report/report_body.h"

void wp_report_transaction_add(struct wp_report *report, const struct wp_transaction *add)
{
    uint32_t row = report->transaction_count;
    if (add->service == UINT32_MAX || add->who == UINT32_MAX || add->what == UINT32_MAX || add->part >= WP_PARTS ||
        add->bucket >= WP_LATENCY_BUCKETS ||
        wp_rows_grow(&report->transactions, &report->transaction_room, row, sizeof(*report->transactions))) {
        report->has_failed = true;
        return;
    }
    struct wp_intkey key = {wp_pair(add->service, add->who), (uint64_t)add->what << 16 | add->part << 8 | add->bucket};
    if (!wp_intmap_get(&report->by_transaction, key, &row)) {
        if (wp_intmap_put(&report->by_transaction, key, row)) {
            report->has_failed = true;
            return;
        }
        report->transactions[report->transaction_count++] = (struct wp_transaction){
            .service = add->service, .who = add->who, .what = add->what, .part = add->part, .bucket = add->bucket};
    }
    report->transactions[row].ns = wp_sum(report->transactions[row].ns, add->ns);
    report->transactions[row].count = wp_sum(report->transactions[row].count, add->count);
}

void wp_report_slowest_add(struct wp_report *report, const struct wp_slowest *add)
{
    uint32_t row = report->slowest_count;
    if (!add->ns)
        return;
    if (add->service == UINT32_MAX ||
        wp_rows_grow(&report->slowest, &report->slowest_room, row, sizeof(*report->slowest))) {
        report->has_failed = true;
        return;
    }
    struct wp_intkey key = {add->service, 0};
    if (!wp_intmap_get(&report->by_slowest, key, &row)) {
        if (wp_intmap_put(&report->by_slowest, key, row)) {
            report->has_failed = true;
            return;
        }
        report->slowest[report->slowest_count++] = *add;
        return;
    }
    struct wp_slowest *now = &report->slowest[row];
    if (add->ns > now->ns || (add->ns == now->ns && add->start_ns < now->start_ns))
        *now = *add;
}

void wp_report_transaction(struct wp_report *report, const char *service, uint64_t start_ns, uint64_t ns)
{
    uint32_t id = wp_report_string(report, service), none = wp_report_string(report, "");
    wp_report_transaction_add(report,
        &(struct wp_transaction){.service = id,
            .who = none,
            .what = none,
            .part = WP_PART_WHOLE,
            .bucket = wp_latency_bucket(ns),
            .ns = ns,
            .count = 1});
    wp_report_slowest_add(report, &(struct wp_slowest){id, start_ns, ns});
}

void wp_report_transaction_part(struct wp_report *report, const struct wp_transaction_part *part)
{
    wp_report_transaction_parts(report, part, 1);
}

void wp_report_transaction_parts(struct wp_report *report, const struct wp_transaction_part *part, uint64_t count)
{
    wp_report_transaction_add(report,
        &(struct wp_transaction){.service = wp_report_string(report, part->service),
            .who = wp_report_string(report, part->who),
            .what = wp_report_string(report, part->what),
            .part = part->part,
            .bucket = part->bucket,
            .ns = part->ns,
            .count = count});
}

const struct wp_transaction *wp_report_transactions(const struct wp_report *report, uint32_t *count)
{
    *count = report->transaction_count;
    return report->transactions;
}

const struct wp_slowest *wp_report_slowest(const struct wp_report *report, uint32_t *count)
{
    *count = report->slowest_count;
    return report->slowest;
}

const char *wp_transaction_part_key(uint32_t part)
{
    if (part >= WP_PARTS)
        return "";
    return part == WP_PART_WHOLE ? "whole"
        : part == WP_PART_UNREAD ? "unread"
                                 : wp_category_key((enum wp_category)part);
}
