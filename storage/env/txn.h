/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_ENV_TXN_H
#define WP_STORAGE_ENV_TXN_H
/* Transactions on a release: values by key. */
#include "common/buffer.h"
#include "common/error.h"
#include "storage/value/keys.h"
#include "storage/value/value.h"

struct wp_store;
struct wp_txn;

#define WP_STORE_TRIES 40 /* that a transaction is begun again while the map grows */

/* Write transactions create the release when it is new; read transactions of a missing one return -ENOENT.
 * A full map grows by itself and the transaction must then be begun again: -EAGAIN from put or commit. */
int wp_txn_begin(struct wp_txn **txn, struct wp_store *store, const char *release, bool write, struct wp_error *err);
int wp_txn_commit(struct wp_txn *txn, struct wp_error *err); /* ends it, whatever it returns */
void wp_txn_abort(struct wp_txn *txn);                       /* NULL-safe */

/* Raw protobuf (or blob) bytes by key; wraps and compresses. */
int wp_txn_put(struct wp_txn *txn, const char *key, enum wp_value_kind kind, const uint8_t *bytes, size_t size,
    struct wp_error *err);
/* Appends the raw bytes to `out`. -ENOENT; -EBADMSG: damaged (err names the key and what is wrong). */
int wp_txn_get(
    struct wp_txn *txn, const char *key, enum wp_value_kind kind, struct wp_buffer *out, struct wp_error *err);
/* -ENOENT: no such key; -EBADMSG: the pages of its value are ruined, which wp_txn_repair mends. */
int wp_txn_delete(struct wp_txn *txn, const char *key, struct wp_error *err);
/* Calls `visit` for every key with this prefix, in order, until it returns non-zero (which is returned). */
int wp_txn_visit(struct wp_txn *txn, const char *prefix,
    int (*visit)(void *context, const char *key, size_t value_size), void *context, struct wp_error *err);

/* Deltas of a value that make its next one sum them up: a session that never ends does not pile them up. */
#define WP_DELTAS 64u

/* An error of LMDB in this transaction; a full map is noted for the next one. */
int wp_txn_error(struct wp_txn *txn, struct wp_error *err, int mdb_rc, const char *what);
/* As wp_txn_put, with a head. */
int wp_txn_put_headed(struct wp_txn *txn, const char *key, const struct wp_raw_value *raw, struct wp_error *err);
/* The stored bytes of a key as they are, valid until the transaction ends or writes. -ENOENT. */
int wp_txn_stored(struct wp_txn *txn, const char *key, const uint8_t **bytes, size_t *size, struct wp_error *err);
/* As wp_txn_stored, with the header parsed and the kind checked; errors name the key. */
int wp_txn_value(
    struct wp_txn *txn, const char *key, enum wp_value_kind kind, struct wp_value *value, struct wp_error *err);
/* Puts the value under the next free delta of `key` (whose delta is set). */
int wp_txn_append(struct wp_txn *txn, struct wp_key *key, const struct wp_raw_value *raw, struct wp_error *err);
/* Sorted keys with this prefix. */
int wp_txn_keys(struct wp_txn *txn, const char *prefix, char ***keys, size_t *count, struct wp_error *err);
/* Formats and puts, gets or finds out whether it is there. */
int wp_txn_put_key(
    struct wp_txn *txn, const struct wp_key *key, const uint8_t *bytes, size_t size, struct wp_error *err);
/* As wp_txn_get, of the kind that the key says. -EINVAL: not a valid key. */
int wp_txn_get_key(struct wp_txn *txn, const struct wp_key *key, struct wp_buffer *out, struct wp_error *err);

#endif
