/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_METADATA_STORE_H
#define WP_STORAGE_KIND_METADATA_STORE_H
/* Keys and values of a release, an aggregate or a timebox, each shard its own; the last writer by time wins. */
#include "storage/env/txn.h"

/* A key and its value, borrowed; both end with NUL. */
struct wp_metadata_entry {
    const char *key, *value;
};
/* Which of the three levels is meant. */
struct wp_metadata_scope {
    const char *aggregate; /* NULL: of the release */
    bool has_timebox;      /* "<aggregate>/metadata.~<timebox>.<shard>" */
    uint64_t timebox_s;
};
/* Whose entries they are, and when they are written. */
struct wp_metadata_writer {
    const char *shard;
    uint64_t real_s;
};
/* At any of the three levels; merged into what is there, the last writer by time wins; of two alike among `entries` the
 * later counts. The value is read and written once. */
int wp_txn_put_metadata_at(struct wp_txn *txn, const struct wp_metadata_scope *scope,
    const struct wp_metadata_writer *writer, const struct wp_metadata_entry *entries, size_t count,
    struct wp_error *err);
/* At any of the three levels; value NULL removes the key from this shard. -ENOENT: it was not there. */
int wp_txn_set_metadata(struct wp_txn *txn, const struct wp_metadata_scope *scope,
    const struct wp_metadata_writer *writer, const char *key, const char *value, struct wp_error *err);
/* An entry as one shard has it; borrowed, until the visit returns. */
struct wp_metadata_row {
    const char *shard, *key, *value;
    uint64_t real_s;
    bool is_winner; /* of all shards: later, then greater shard id */
};
/* By key, the winner first. */
int wp_txn_all_metadata(struct wp_txn *txn, const struct wp_metadata_scope *scope,
    int (*visit)(void *context, const struct wp_metadata_row *row), void *context, struct wp_error *err);

/* -EBADMSG: the body is not a Metadata message, an entry is empty, too long or holds a NUL, or keys do not ascend. */
int wp_metadata_check(const uint8_t *bytes, size_t size, struct wp_error *err);

#endif
