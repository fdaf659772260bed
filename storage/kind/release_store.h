/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_RELEASE_STORE_H
#define WP_STORAGE_KIND_RELEASE_STORE_H
/* What a release holds: its aggregates, shards, first and newest activity, and a digest of it all. */
#include "storage/env/txn.h"

/* Names of the aggregates of a release, sorted; free each and the array. */
int wp_txn_aggregates(struct wp_txn *txn, char ***aggregates, size_t *count, struct wp_error *err);
/* Realtime of the first and the newest activity in any report of the release, from their heads alone; 0 none. Damaged
 * ones say nothing. */
int wp_txn_activity(struct wp_txn *txn, uint64_t *first_ns, uint64_t *last_ns, struct wp_error *err);
/* Sorted shards and timeboxes; free. */
int wp_txn_shards(struct wp_txn *txn, char ***shards, size_t *count, struct wp_error *err);

#endif
