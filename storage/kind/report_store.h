/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_REPORT_STORE_H
#define WP_STORAGE_KIND_REPORT_STORE_H
/* Stored reports one by one, for what rewrites them: compaction, roll-up, merging of stores. */
#include "storage/env/txn.h"

bool wp_selection_has(const struct wp_selection *selection, const struct wp_key *key);
/* Whether all hosts of a report are meant (*is_meant), or none is. -EINVAL: some are, and its parts cannot be told. */
int wp_selection_has_hosts(const struct wp_selection *selection, const struct wp_key *key, const struct wp_report *report, bool *is_meant,
    struct wp_error *err);
/* Lists "<aggregate>/<what>."; -ENOENT when the aggregate has no key at all. */
int wp_txn_list(struct wp_txn *txn, const char *aggregate, const char *what, char ***keys, size_t *count,
    struct wp_error *err);
int wp_txn_decode_report(struct wp_txn *txn, const char *key, struct wp_report **report, struct wp_error *err);
/* Merges the value into *sum (NULL: becomes it). */
int wp_txn_merge_report(struct wp_txn *txn, const char *key, struct wp_report **sum, struct wp_error *err);
/* This one report and its deltas become their sum. */
int wp_txn_compact_report(struct wp_txn *txn, const struct wp_key *key, struct wp_error *err);
/* Whether a result means that this value is damaged, and no other. */
bool wp_is_damage(int rc);
/* Ids and rows in canonical order: what is shown must not depend on how many deltas it came in. */
int wp_report_make_canonical(struct wp_report **report, struct wp_error *err);
int wp_txn_put_report(struct wp_txn *txn, const struct wp_key *key, const struct wp_report *report, uint64_t timebox_length_s,
    struct wp_error *err);
/* Seconds that a rolled-up report covers; 0: as long as its writer made it (and for a damaged one). */
uint64_t wp_txn_timebox_length(struct wp_txn *txn, const char *key);

/* A stored report, base or delta, of one aggregate. */
struct wp_report_part {
    struct wp_key key;
    char *text;        /* owned */
    uint64_t length_s; /* as wp_txn_timebox_length */
};

/* Those of the shard (NULL: all) by shard, host, timebox, text. In the store itself another shard's keys may stand between a
 * report and its deltas. Free with wp_report_parts_free. */
int wp_txn_report_parts(struct wp_txn *txn, const char *aggregate, const char *shard, struct wp_report_part **parts,
    size_t *count, struct wp_error *err);
void wp_report_parts_free(struct wp_report_part *parts, size_t count);
/* Puts the sum of the parts as the report of `timebox_s` and deletes the others. *is_done false: one of them is damaged,
 * all stay as they are, that is for a person. */
int wp_txn_sum_parts(struct wp_txn *txn, const struct wp_report_part *parts, size_t count, uint64_t timebox_s,
    uint64_t length_s, bool *is_done, struct wp_error *err);

#endif
