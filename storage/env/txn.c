/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/env/txn.h"

#include "common/strings.h"
#include "storage/env/env_pages.h"
#include "storage/env/store_env.h"
#include "storage/env/txn_body.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int wp_txn_error(struct wp_txn *txn, struct wp_error *err, int mdb_rc, const char *what)
{
    if (mdb_rc == MDB_MAP_FULL)
        wp_env_want_larger(txn->store, txn->env);
    else if (mdb_rc == MDB_MAP_RESIZED)
        wp_env_want_known_size(txn->store, txn->env);
    else if (mdb_rc == MDB_PANIC)
        wp_env_set_broken(txn->store, txn->env);
    return wp_env_error(err, mdb_rc, what, txn->store, txn->env->release);
}

static void free_txn(struct wp_txn *txn)
{
    wp_env_leave(txn->store, txn->env);
    wp_buffer_fini(&txn->scratch);
    wp_value_zstd_fini(&txn->zstd);
    free(txn);
}

static int begin(struct wp_txn *txn, struct wp_error *err)
{
    int rc = mdb_txn_begin(txn->env->mdb, NULL, txn->is_write ? 0 : MDB_RDONLY, &txn->mdb);
    if (rc)
        return wp_txn_error(txn, err, rc, "cannot begin a transaction");
    if (txn->is_write && wp_env_is_replaced(txn->store, txn->env)) { /* while it waited for LMDB's lock */
        mdb_txn_abort(txn->mdb);
        wp_env_set_broken(txn->store, txn->env);
        return -EAGAIN;
    }
    rc = mdb_dbi_open(txn->mdb, NULL, 0, &txn->dbi);
    if (!rc)
        return 0;
    mdb_txn_abort(txn->mdb);
    return wp_txn_error(txn, err, rc, "cannot begin a transaction");
}

int wp_txn_begin(struct wp_txn **out, struct wp_store *store, const char *release, bool write, struct wp_error *err)
{
    *out = NULL;
    int rc = -EAGAIN;
    for (int tries = 0; rc == -EAGAIN && tries < WP_STORE_TRIES; tries++) { /* another process may have grown the map */
        struct wp_txn *txn = calloc(1, sizeof(*txn));
        if (!txn)
            return wp_error_set(err, -ENOMEM, "out of memory for a transaction");
        txn->store = store;
        txn->is_write = write;
        rc = wp_env_enter(store, release, write, &txn->env, err);
        if (rc) {
            free(txn);
            return rc;
        }
        rc = begin(txn, err);
        if (rc)
            free_txn(txn);
        else
            *out = txn;
    }
    if (rc == -EAGAIN)
        wp_error_set(err, rc, "release '%s' of '%s' changes its file or map again and again", release, store->root);
    return rc;
}

int wp_txn_commit(struct wp_txn *txn, struct wp_error *err)
{
    int rc = mdb_txn_commit(txn->mdb);
    if (rc == EIO || rc == ENOSPC) /* the pages in memory and on disk may differ: LMDB wants to be opened again */
        wp_env_set_broken(txn->store, txn->env);
    if (rc == EIO && wp_env_disk_is_full(txn->store)) /* a write cut short by a full disk: LMDB 0.9 says EIO */
        rc = ENOSPC;
    if (rc)
        rc = wp_txn_error(txn, err, rc, "cannot commit");
    free_txn(txn);
    return rc;
}

void wp_txn_abort(struct wp_txn *txn)
{
    if (!txn)
        return;
    mdb_txn_abort(txn->mdb);
    free_txn(txn);
}

static MDB_val key_of(const char *key)
{
    return (MDB_val){strlen(key), (void *)(uintptr_t)key};
}

/* Before a value is deleted or replaced: LMDB frees as many pages as the first of them says. */
static int check_head(struct wp_txn *txn, const MDB_val *key, struct wp_error *err)
{
    MDB_val k = *key, v;
    if (!k.mv_size || mdb_get(txn->mdb, txn->dbi, &k, &v) || wp_env_head_is_well(txn->env->mdb, &k, &v))
        return 0;
    return wp_error_set(err, -EBADMSG,
        "the pages of '%.*s' in '%s/%s' are damaged: wakepath-store repair --drop-damaged mends that", (int)k.mv_size,
        (const char *)k.mv_data, txn->store->root, txn->env->release);
}

int wp_txn_put_headed(struct wp_txn *txn, const char *key, const struct wp_raw_value *raw, struct wp_error *err)
{
    struct wp_key parsed;
    int rc = wp_key_parse(&parsed, key, err);
    if (!rc && parsed.kind != raw->kind)
        rc = wp_error_set(err, -EINVAL, "'%s' is a key for a %s, not a %s", key, wp_value_kind_name(parsed.kind),
            wp_value_kind_name(raw->kind));
    wp_buffer_clear(&txn->scratch);
    if (!rc)
        rc = wp_value_wrap(&txn->zstd, raw, &txn->scratch, err);
    if (rc)
        return wp_error_wrap(err, rc, "cannot put '%s'", key);
    MDB_val k = key_of(key), v = {txn->scratch.size, txn->scratch.data};
    rc = check_head(txn, &k, err);
    if (rc)
        return rc;
    rc = mdb_put(txn->mdb, txn->dbi, &k, &v, 0);
    return rc ? wp_txn_error(txn, err, rc, "cannot put a value") : 0;
}

int wp_txn_put(struct wp_txn *txn, const char *key, enum wp_value_kind kind, const uint8_t *bytes, size_t size,
    struct wp_error *err)
{
    return wp_txn_put_headed(txn, key, &(struct wp_raw_value){kind, NULL, bytes, size}, err);
}

int wp_txn_stored(struct wp_txn *txn, const char *key, const uint8_t **bytes, size_t *size, struct wp_error *err)
{
    MDB_val k = key_of(key), v;
    int rc = mdb_get(txn->mdb, txn->dbi, &k, &v);
    if (rc == MDB_NOTFOUND)
        return wp_error_set(err, -ENOENT, "release '%s' of '%s' has no '%s'", txn->env->release, txn->store->root, key);
    if (rc)
        return wp_txn_error(txn, err, rc, "cannot get a value");
    *bytes = v.mv_data;
    *size = v.mv_size;
    return 0;
}

int wp_txn_value(
    struct wp_txn *txn, const char *key, enum wp_value_kind kind, struct wp_value *value, struct wp_error *err)
{
    const uint8_t *bytes;
    size_t size;
    int rc = wp_txn_stored(txn, key, &bytes, &size, err);
    if (rc)
        return rc;
    rc = wp_value_parse(value, bytes, size, err);
    if (!rc && value->kind != kind)
        rc = wp_error_set(
            err, -EBADMSG, "holds a %s where a %s belongs", wp_value_kind_name(value->kind), wp_value_kind_name(kind));
    return rc ? wp_error_wrap(err, rc, "%s", key) : 0;
}

int wp_txn_get(
    struct wp_txn *txn, const char *key, enum wp_value_kind kind, struct wp_buffer *out, struct wp_error *err)
{
    struct wp_value value;
    int rc = wp_txn_value(txn, key, kind, &value, err);
    if (rc)
        return rc;
    rc = wp_value_unwrap(&txn->zstd, &value, out, err);
    return rc ? wp_error_wrap(err, rc, "%s", key) : 0;
}

/* A key with a NUL in it, which is none of ours and ends there when it is listed: the first such one. */
static int delete_cut(struct wp_txn *txn, const char *key)
{
    MDB_cursor *cursor;
    MDB_val k = {strlen(key) + 1, (void *)(uintptr_t)key}, v;
    int rc = mdb_cursor_open(txn->mdb, txn->dbi, &cursor);
    if (rc)
        return rc;
    rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
    if (!rc && (k.mv_size <= strlen(key) || memcmp(k.mv_data, key, strlen(key) + 1)))
        rc = MDB_NOTFOUND;
    if (!rc && !wp_env_head_is_well(txn->env->mdb, &k, &v))
        rc = MDB_CORRUPTED;
    if (!rc)
        rc = mdb_cursor_del(cursor, 0);
    mdb_cursor_close(cursor);
    return rc;
}

int wp_txn_delete(struct wp_txn *txn, const char *key, struct wp_error *err)
{
    MDB_val k = key_of(key);
    int rc = check_head(txn, &k, err);
    if (rc)
        return rc;
    rc = k.mv_size ? mdb_del(txn->mdb, txn->dbi, &k, NULL) : MDB_NOTFOUND;
    if (rc == MDB_NOTFOUND)
        rc = delete_cut(txn, key);
    if (rc == MDB_NOTFOUND)
        return wp_error_set(err, -ENOENT, "release '%s' of '%s' has no '%s'", txn->env->release, txn->store->root, key);
    return rc ? wp_txn_error(txn, err, rc, "cannot delete a value") : 0;
}

int wp_txn_visit(struct wp_txn *txn, const char *prefix,
    int (*visit)(void *context, const char *key, size_t value_size), void *context, struct wp_error *err)
{
    MDB_cursor *cursor;
    MDB_val k = key_of(prefix), v;
    size_t prefix_size = k.mv_size;
    char text[WP_KEY_ROOM];
    int rc = mdb_cursor_open(txn->mdb, txn->dbi, &cursor), result = 0;
    if (rc)
        return wp_txn_error(txn, err, rc, "cannot list the keys");
    rc = mdb_cursor_get(cursor, &k, &v, prefix_size ? MDB_SET_RANGE : MDB_FIRST);
    while (!rc && !result && k.mv_size >= prefix_size && !memcmp(k.mv_data, prefix, prefix_size)) {
        size_t size = k.mv_size < sizeof(text) ? k.mv_size : sizeof(text) - 1;
        memcpy(text, k.mv_data, size);
        text[size] = 0;
        result = visit(context, text, v.mv_size);
        if (!result)
            rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    return rc && rc != MDB_NOTFOUND ? wp_txn_error(txn, err, rc, "cannot list the keys") : result;
}

struct key_list {
    char **keys;
    size_t count;
};

static int add_key(void *context, const char *key, size_t value_size)
{
    (void)value_size;
    struct key_list *list = context;
    return wp_strings_add(&list->keys, &list->count, key);
}

int wp_txn_keys(struct wp_txn *txn, const char *prefix, char ***keys, size_t *count, struct wp_error *err)
{
    struct key_list list = {0};
    int rc = wp_txn_visit(txn, prefix, add_key, &list, err);
    if (rc) {
        wp_strings_free(list.keys, list.count);
        return rc == -ENOMEM ? wp_error_set(err, rc, "out of memory for the keys at '%s'", prefix) : rc;
    }
    *keys = list.keys;
    *count = list.count;
    return 0;
}

int wp_txn_put_key(
    struct wp_txn *txn, const struct wp_key *key, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    char text[WP_KEY_ROOM];
    int rc = wp_key_format(key, text, err);
    return rc ? rc : wp_txn_put(txn, text, key->kind, bytes, size, err);
}

int wp_txn_get_key(struct wp_txn *txn, const struct wp_key *key, struct wp_buffer *out, struct wp_error *err)
{
    char text[WP_KEY_ROOM];
    int rc = wp_key_format(key, text, err);
    return rc ? rc : wp_txn_get(txn, text, key->kind, out, err);
}

/* The greatest delta of this key, or -ENOENT: the last key before the one that no delta can have. */
static int last_delta(struct wp_txn *txn, const char *key, uint64_t *delta, struct wp_error *err)
{
    char end[WP_KEY_ROOM + 4];
    MDB_cursor *cursor;
    MDB_val v;
    size_t size = strlen(key);
    memcpy(end, key, size);
    memcpy(end + size, ".~:", 4); /* ':' follows '9' */
    MDB_val k = key_of(end);
    int rc = mdb_cursor_open(txn->mdb, txn->dbi, &cursor);
    if (rc)
        return wp_txn_error(txn, err, rc, "cannot look for a free delta");
    rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
    rc = mdb_cursor_get(cursor, &k, &v, rc == MDB_NOTFOUND ? MDB_LAST : MDB_PREV);
    struct wp_key found;
    char text[WP_KEY_ROOM] = "";
    if (!rc && k.mv_size < sizeof(text))
        memcpy(text, k.mv_data, k.mv_size);
    mdb_cursor_close(cursor);
    if (rc && rc != MDB_NOTFOUND)
        return wp_txn_error(txn, err, rc, "cannot look for a free delta");
    if (rc || strncmp(text, key, size) || strncmp(text + size, ".~", 2) || wp_key_parse(&found, text, NULL))
        return -ENOENT;
    *delta = found.delta;
    return 0;
}

int wp_txn_append(struct wp_txn *txn, struct wp_key *key, const struct wp_raw_value *raw, struct wp_error *err)
{
    char text[WP_KEY_ROOM];
    uint64_t last = 0;
    key->has_delta = false;
    int rc = wp_key_format(key, text, err);
    if (!rc)
        rc = last_delta(txn, text, &last, err);
    if (rc && rc != -ENOENT)
        return rc;
    key->has_delta = true;
    key->delta = rc ? 1 : last + 1;
    rc = wp_key_format(key, text, err);
    return rc ? rc : wp_txn_put_headed(txn, text, raw, err);
}
