/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_UPKEEP_RETENTION_H
#define WP_STORAGE_UPKEEP_RETENTION_H
/*
 * What a release does not keep: traces and reports by age, state of sessions and processes that are gone, blobs that
 * nobody refers to. All of it works inside a transaction of its caller's; a dry run gives the transaction up.
 */
#include "storage/upkeep/rollup.h"

#define WP_RAW_TIMEBOX_S 3600u /* the length of a timebox that does not say its own */

struct wp_retention {
    struct wp_roll_up roll_up; /* first; when not `is_rolled`, hours and days of its ages are deleted instead */
    bool is_rolled;
    uint64_t traces_s, months_s, state_s; /* ages, from a timebox' end; WP_FOREVER */
    /* Told of each value that goes, of each one that is made smaller (bytes: by how much) or becomes part of a sum. */
    void (*gone)(void *context, const char *key, uint64_t bytes, const char *why);
    void *context;
};

/* -EBADMSG and the like only when the release cannot be listed; damaged values stay, and keep what depends on them. */
int wp_txn_retain(struct wp_txn *txn, struct wp_retention *rule, struct wp_error *err);
/* The parts of it that stand alone: metadata of aggregates that hold no report and no trace any more ... */
int wp_txn_drop_empty(struct wp_txn *txn, const struct wp_retention *rule, struct wp_error *err);
/* ... state of sessions that are over, processes that no kept report or living descendant needs (storage/upkeep/expiry.c) ... */
int wp_txn_expire_state(struct wp_txn *txn, const struct wp_retention *rule, struct wp_error *err);
/* ... and blobs without a reference. */
int wp_txn_drop_blobs(struct wp_txn *txn, const struct wp_retention *rule, struct wp_error *err);

/* Deletes and tells. */
int wp_retention_delete(struct wp_txn *txn, const struct wp_retention *rule, const char *key, const char *why,
    struct wp_error *err);

#endif
