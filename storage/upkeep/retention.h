/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_UPKEEP_RETENTION_H
#define WP_STORAGE_UPKEEP_RETENTION_H
/*
 * What a release does not keep: traces and reports by age, state of sessions and processes that are gone, blobs that
 * nobody refers to. All of it works inside a transaction of its caller's; a dry run gives the transaction up.
 */
#include "storage/upkeep/retention_rule.h"

/* -EBADMSG or another -errno only when the release cannot be listed; damaged values stay, and keep what depends on
 * them. */
int wp_txn_retain(struct wp_txn *txn, struct wp_retention *rule, struct wp_error *err);
/* The part of it that stands alone: metadata of aggregates that hold no report and no trace any more. The others:
 * expiry.h. */
int wp_txn_drop_empty(struct wp_txn *txn, const struct wp_retention *rule, struct wp_error *err);
/* The same of one aggregate (a bucket's whole name). */
int wp_txn_drop_empty_of(
    struct wp_txn *txn, const struct wp_retention *rule, const char *aggregate, struct wp_error *err);

#endif
