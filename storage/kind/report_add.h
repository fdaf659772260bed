/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_REPORT_ADD_H
#define WP_STORAGE_KIND_REPORT_ADD_H
/* A report is added to a timebox as a delta; every WP_DELTAS of them are summed up. */
#include "storage/env/txn.h"
#include "storage/kind/report_place.h"
#include "storage/report/report.h"

/* "<aggregate>/report.<timebox>.<shard>.~<delta>", delta = the next free number of that report, ten digits; of one
 * host, by its name, "<aggregate>/report.<timebox>.<shard>@<host>.~<delta>" (storage/value/host_part.h). */
int wp_txn_add_host_report(
    struct wp_txn *txn, const struct wp_report_place *place, const struct wp_report *report, struct wp_error *err);

#endif
