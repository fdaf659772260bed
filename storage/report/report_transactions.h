/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_TRANSACTIONS_H
#define WP_STORAGE_REPORT_REPORT_TRANSACTIONS_H
/* Transactions in a report: latencies by service, and what they consisted of. */
#include "storage/report/report.h"

/* One transaction that began at `start_ns` (realtime); and an interval of one. */
void wp_report_transaction(struct wp_report *report, const char *service, uint64_t start_ns, uint64_t ns);
/* `part->bucket` is that of the whole transaction's latency. A part or bucket out of range is lost
 * (wp_report_failed). */
void wp_report_transaction_part(struct wp_report *report, const struct wp_transaction_part *part);
/* `count` intervals, part->ns long together. */
void wp_report_transaction_parts(struct wp_report *report, const struct wp_transaction_part *part, uint64_t count);
/* In no order. */
const struct wp_transaction *wp_report_transactions(const struct wp_report *report, uint32_t *count);
/* Likewise, one row a service. */
const struct wp_slowest *wp_report_slowest(const struct wp_report *report, uint32_t *count);

/* "whole", "unread" or the category's key; "" out of range. */
const char *wp_transaction_part_key(uint32_t part);

/* By ids of this report's strings. Adds to the row of the same service, who, what, part and bucket. */
void wp_report_transaction_add(struct wp_report *report, const struct wp_transaction *row);
/* Keeps the longer of it and the service's row, the earlier of equal ones; 0 ns is left out. */
void wp_report_slowest_add(struct wp_report *report, const struct wp_slowest *row);

#endif
