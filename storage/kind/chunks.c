/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/kind/chunks.h"

#include "common/strings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int make_key(struct wp_key *key, enum wp_value_kind kind, const char *shard, struct wp_error *err)
{
    *key = (struct wp_key){.kind = kind};
    if ((size_t)snprintf(key->shard, sizeof(key->shard), "%s", shard) >= sizeof(key->shard))
        return wp_error_set(err, -EINVAL, "a shard's id has at most 128 bytes: '%.150s...'", shard);
    return 0;
}

int wp_chunks_append(
    struct wp_txn *txn, const char *shard, const struct wp_chunks *chunks, uint64_t *delta, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    struct wp_key key;
    int rc = make_key(&key, chunks->kind, shard, err);
    if (!rc)
        rc = chunks->pack(chunks->rows, &bytes, err);
    if (!rc)
        rc = wp_txn_append(txn, &key, &(struct wp_raw_value){key.kind, NULL, bytes.data, bytes.size}, err);
    *delta = rc ? 0 : key.delta;
    wp_buffer_fini(&bytes);
    return rc;
}

static int take_key(struct wp_txn *txn, const char *key, const struct wp_chunks *chunks, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    int rc = wp_txn_get(txn, key, chunks->kind, &bytes, err);
    if (!rc)
        rc = chunks->take(chunks->rows, bytes.data, bytes.size, err);
    wp_buffer_fini(&bytes);
    return rc;
}

static int replace(struct wp_txn *txn, const struct wp_key *key, const struct wp_chunks *chunks, char **deltas,
    size_t count, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    int rc = chunks->pack(chunks->rows, &bytes, err);
    if (!rc)
        rc = wp_txn_put_key(txn, key, bytes.data, bytes.size, err);
    for (size_t i = 0; !rc && i < count; i++)
        rc = wp_txn_delete(txn, deltas[i], err);
    wp_buffer_fini(&bytes);
    return rc;
}

/* The value's key, and those of its deltas. */
static int list_keys(struct wp_txn *txn, const struct wp_key *key, char base[WP_KEY_ROOM], char ***deltas,
    size_t *count, struct wp_error *err)
{
    char prefix[WP_KEY_ROOM + 4];
    int rc = wp_key_format(key, base, err);
    if (rc)
        return rc;
    snprintf(prefix, sizeof(prefix), "%s.~", base);
    return wp_txn_keys(txn, prefix, deltas, count, err);
}

int wp_chunks_read(
    struct wp_txn *txn, const char *shard, const struct wp_chunks *chunks, size_t *damaged, struct wp_error *err)
{
    char base[WP_KEY_ROOM], **deltas = NULL;
    size_t count = 0;
    struct wp_key key;
    *damaged = 0;
    int rc = make_key(&key, chunks->kind, shard, err);
    if (!rc)
        rc = list_keys(txn, &key, base, &deltas, &count, err);
    for (size_t i = 0; !rc && i <= count; i++) {
        rc = take_key(txn, i ? deltas[i - 1] : base, chunks, err);
        *damaged += rc == -EBADMSG || rc == -EPROTONOSUPPORT;
        if (rc == -EBADMSG || rc == -EPROTONOSUPPORT || rc == -ENOENT)
            rc = 0;
    }
    wp_strings_free(deltas, count);
    return rc;
}

int wp_chunks_compact(struct wp_txn *txn, const char *shard, const struct wp_chunks *chunks, struct wp_error *err)
{
    char base[WP_KEY_ROOM], **deltas = NULL;
    size_t count = 0;
    struct wp_key key;
    int rc = make_key(&key, chunks->kind, shard, err);
    if (!rc)
        rc = list_keys(txn, &key, base, &deltas, &count, err);
    if (rc)
        return rc;
    if (!rc && count) {
        rc = take_key(txn, base, chunks, err);
        if (rc == -ENOENT)
            rc = 0;
        for (size_t i = 0; !rc && i < count; i++)
            rc = take_key(txn, deltas[i], chunks, err);
        if (!rc)
            rc = replace(txn, &key, chunks, deltas, count, err);
        else if (rc == -EBADMSG || rc == -EPROTONOSUPPORT)
            rc = 0;
    }
    wp_strings_free(deltas, count);
    return rc;
}

int wp_chunks_join(const struct wp_chunks *chunks, const struct wp_buffer *values, size_t count, struct wp_buffer *out,
    struct wp_error *err)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++)
        rc = chunks->take(chunks->rows, values[i].data, values[i].size, err);
    return rc ? rc : chunks->pack(chunks->rows, out, err);
}

int wp_chunks_check(const struct wp_chunks *chunks, const uint8_t *bytes, size_t size, struct wp_error *err)
{
    struct wp_buffer again = {0};
    int rc = chunks->take(chunks->rows, bytes, size, err);
    if (!rc)
        rc = chunks->pack(chunks->rows, &again, err);
    if (!rc && (again.size != size || (size && memcmp(again.data, bytes, size))))
        rc = wp_error_set(err, -EBADMSG, "%s is not in canonical order", wp_value_kind_name(chunks->kind));
    wp_buffer_fini(&again);
    return rc;
}
