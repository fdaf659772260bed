/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_REPORT_COMPACT_H
#define WP_STORAGE_KIND_REPORT_COMPACT_H
/* Reports and their deltas become their sum. */
#include "storage/env/txn.h"
#include "storage/kind/report_store.h"

/* Merges all deltas of every report of this shard into "<aggregate>/report.<timebox>.<shard>". */
int wp_txn_compact(struct wp_txn *txn, const char *shard, struct wp_error *err);

/* This one report and its deltas become their sum. */
int wp_txn_compact_report(struct wp_txn *txn, const struct wp_key *key, struct wp_error *err);

/* A stored report, base or delta, of one aggregate. */
struct wp_report_part {
    struct wp_key key;
    char *text;        /* owned */
    uint64_t length_s; /* as wp_txn_timebox_length */
};

struct wp_report_parts {
    struct wp_report_part *rows; /* owned, or a part of those of others */
    size_t count;
};

/* Those of the shard (NULL: all) by shard, host, timebox, text. In the store itself another shard's keys may stand
 * between a report and its deltas. Free with wp_report_parts_fini. */
int wp_txn_report_parts(
    struct wp_txn *txn, const char *aggregate, const char *shard, struct wp_report_parts *parts, struct wp_error *err);
/* Frees the rows and the texts in them, and zeroes it; zeroed is allowed. */
void wp_report_parts_fini(struct wp_report_parts *parts);
/* Puts the sum of the parts as the report of `timebox_s`, of that length (0: its writer's), and deletes the others.
 * *is_done false: one of them is damaged, all stay as they are, that is for a person. */
int wp_txn_sum_parts(struct wp_txn *txn, const struct wp_report_parts *parts, uint64_t timebox_s, uint64_t length_s,
    bool *is_done, struct wp_error *err);

#endif
