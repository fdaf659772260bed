/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_ENV_TXN_H
#define WP_STORAGE_ENV_TXN_H
/* The inside of a transaction, for the files that keep one kind of value each. */
#include "storage/env/store_env.h"
#include "storage/value/keys.h"
#include "storage/value/value.h"

struct wp_txn {
    struct wp_store *store;
    struct wp_env *env;     /* entered */
    MDB_txn *mdb;
    MDB_dbi dbi;
    bool is_write;
    struct wp_buffer scratch; /* a value on its way in */
    struct wp_value_zstd zstd;
};

/* An error of LMDB in this transaction; a full map is noted for the next one. */
int wp_txn_error(struct wp_txn *txn, struct wp_error *err, int mdb_rc, const char *what);
/* As wp_txn_put, with a head (NULL none). */
int wp_txn_put_headed(struct wp_txn *txn, const char *key, enum wp_value_kind kind, const struct wp_buffer *head,
    const uint8_t *bytes, size_t size, struct wp_error *err);
/* The stored bytes of a key as they are, valid until the transaction ends or writes. -ENOENT. */
int wp_txn_stored(struct wp_txn *txn, const char *key, const uint8_t **bytes, size_t *size, struct wp_error *err);
/* As wp_txn_stored, with the header parsed and the kind checked; errors name the key. */
int wp_txn_value(struct wp_txn *txn, const char *key, enum wp_value_kind kind, struct wp_value *value, struct wp_error *err);
/* Puts `bytes` under the next free delta of `key` (whose delta is set). */
int wp_txn_append(struct wp_txn *txn, struct wp_key *key, const struct wp_buffer *head, const uint8_t *bytes, size_t size,
    struct wp_error *err);
/* Sorted keys with this prefix. */
int wp_txn_keys(struct wp_txn *txn, const char *prefix, char ***keys, size_t *count, struct wp_error *err);
/* Formats and puts, gets or finds out whether it is there. */
int wp_txn_put_key(struct wp_txn *txn, const struct wp_key *key, const uint8_t *bytes, size_t size, struct wp_error *err);
int wp_txn_get_key(struct wp_txn *txn, const struct wp_key *key, struct wp_buffer *out, struct wp_error *err);

/* The part "genealogy", "sourcemap" or "source" of wp_txn_compact. */
int wp_genealogy_compact(struct wp_txn *txn, const char *shard, struct wp_error *err);
/* Drops the rows that are not needed, nor ancestors of one that is. */
int wp_genealogy_expire(struct wp_txn *txn, const char *shard, bool (*is_needed)(void *context,
    const struct wp_genealogy_row *row), void *context, size_t *dropped, struct wp_error *err);
/* Whether two start times (0 unknown) may be of one process. */
bool wp_genealogy_same_start(uint64_t a_ns, uint64_t b_ns);
/* Drops the rows of processes that are not needed; how many processes. */
int wp_source_expire(struct wp_txn *txn, const char *shard, bool (*is_needed)(void *context, const char *host, uint32_t pid,
    uint64_t start_ns), void *context, size_t *dropped, struct wp_error *err);
int wp_source_compact(struct wp_txn *txn, const char *shard, struct wp_error *err);
int wp_sourcemap_compact(struct wp_txn *txn, const char *shard, struct wp_error *err);

#endif
