/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_REPORT_SHARES_H
#define WP_STORAGE_KIND_REPORT_SHARES_H
/* The reports of a selection one by one: what each host, or shard, has in each timebox. */
#include "storage/env/txn.h"
#include "storage/kind/selection.h"
#include "storage/report/report.h"

/* What one host, or a shard whose hosts have no reports of their own, has in a timebox. */
struct wp_share {
    uint64_t timebox_s;
    const char *shard, *host; /* host: as the key has it (storage/value/host_part.h), "" none */
    struct wp_report *report; /* whose hosts are its names; the taker's from now on */
};
/* Calls `take` with the sum of each share of the selection, by shard, host and timebox; damaged values are left out.
 * Together they are what wp_txn_read_report reads. -ENOENT: no such aggregate. */
int wp_txn_read_shares(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection,
    int (*take)(void *context, const struct wp_share *share, struct wp_error *err), void *context,
    struct wp_error *err);

#endif
