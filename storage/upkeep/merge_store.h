/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_UPKEEP_MERGE_STORE_H
#define WP_STORAGE_UPKEEP_MERGE_STORE_H
/*
 * A release of one root taken into the same release of another. Shards stay apart, so the reports of two roots merge
 * when they are read; a shard that is there already is known by its origin and brought up to date, never added again.
 */
#include "storage/env/store.h"

/* What is allowed, whom to report to, and what was done. */
struct wp_merge {
    bool renames_shards; /* one that has a namesake of another origin gets a name of its own */
    bool counts_twice;   /* takes a recording that `to` has from another shard, one of them by its capture */
    /* Told where each shard goes (NULL none). */
    void (*shard)(void *context, const char *shard, const char *as, const uint8_t origin[16]);
    /* Called for values that are damaged on either side: they stay as they are. */
    void (*damaged)(void *context, const char *key, const char *reason);
    void *context;
    uint64_t written, same; /* values; counted up */
};

/* Whether it can be done: -EEXIST a shard has a namesake, or a recording would be counted
 * twice (storage/upkeep/merge_sessions.h); -ENODATA one does not say its origin. Writes nothing. `to` NULL:
 * the release is new there. */
int wp_merge_check(struct wp_txn *to, struct wp_txn *from, const struct wp_merge *merge, struct wp_error *err);
/* After wp_merge_check, whose errors it has; `to` is a write transaction. After an error, -EAGAIN included, it is to
 * be aborted, and `written` and `same` start again from 0. */
int wp_txn_merge(struct wp_txn *to, struct wp_txn *from, struct wp_merge *merge, struct wp_error *err);

#endif
