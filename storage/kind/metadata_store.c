/* SPDX-License-Identifier: Apache-2.0 */
/* Metadata: keys with values, of a release or an aggregate, one value a shard. One rule settles conflicts: the last
 * writer by time, then the greater shard id. */
#include "storage/kind/metadata_store.h"

#include "common/array.h"
#include "common/strings.h"
#include "proto/store.pb-c.h"
#include "storage/env/txn.h"
#include "storage/kind/metadata_limit.h"
#include "storage/value/bucket.h"
#include "storage/value/columns.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_LIMIT 512u

typedef Wakepath__Store__Metadata__Entry entry_type;

static int check_entries(const Wakepath__Store__Metadata *m, struct wp_error *err)
{
    for (size_t i = 0; i < m->n_entries; i++) {
        const entry_type *entry = m->entries[i];
        if (!entry->key.len || entry->key.len > KEY_LIMIT || entry->value.len > WP_TEXT_LIMIT ||
            memchr(entry->key.data, 0, entry->key.len) ||
            (entry->value.len && memchr(entry->value.data, 0, entry->value.len)))
            return wp_error_set(err, -EBADMSG, "metadata entry %zu is empty, too long or holds a NUL", i);
    }
    return 0;
}

int wp_metadata_check(const uint8_t *bytes, size_t size, struct wp_error *err)
{
    ProtobufCMessage *message = wp_message_unpack(&wakepath__store__metadata__descriptor, bytes, size, "metadata", err);
    if (!message)
        return -errno;
    const Wakepath__Store__Metadata *m = (const Wakepath__Store__Metadata *)message;
    int rc = check_entries(m, err);
    for (size_t i = 1; !rc && i < m->n_entries; i++)
        if (wp_metadata_compare_keys(m->entries[i - 1]->key, m->entries[i]->key) >= 0)
            rc = wp_error_set(err, -EBADMSG, "metadata entry %zu is not in order", i);
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

/* The message of a key, an empty one when it is not there. */
static int load(struct wp_txn *txn, const struct wp_key *key, ProtobufCMessage **message, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    int rc = wp_txn_get_key(txn, key, &bytes, err);
    *message = NULL;
    if (!rc || rc == -ENOENT) {
        *message = wp_message_unpack(&wakepath__store__metadata__descriptor, bytes.data, bytes.size, "metadata", err);
        rc = *message ? check_entries((const Wakepath__Store__Metadata *)*message, err) : -errno;
    }
    wp_buffer_fini(&bytes);
    if (rc) {
        protobuf_c_message_free_unpacked(*message, NULL);
        *message = NULL;
    }
    return rc;
}

static int make_key(struct wp_key *key, const struct wp_metadata_scope *scope, const char *shard, struct wp_error *err)
{
    const char *aggregate = scope->aggregate;
    *key = (struct wp_key){.kind = WP_VALUE_METADATA, .has_timebox = scope->has_timebox, .timebox_s = scope->timebox_s};
    if (scope->has_timebox && !aggregate)
        return wp_error_set(err, -EINVAL, "a timebox is an aggregate's: say which");
    if (aggregate &&
        (size_t)snprintf(key->aggregate, sizeof(key->aggregate), "%s", aggregate) >= sizeof(key->aggregate))
        return wp_error_set(err, -EINVAL, "an aggregate's name has at most 128 bytes: '%.150s...'", aggregate);
    if ((size_t)snprintf(key->shard, sizeof(key->shard), "%s", shard) >= sizeof(key->shard))
        return wp_error_set(err, -EINVAL, "a shard's id has at most 128 bytes: '%.150s...'", shard);
    return 0;
}

static int put_trimmed(struct wp_txn *txn, const struct wp_key *key, Wakepath__Store__Metadata *metadata,
    uint64_t real_s, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    struct wp_metadata_gone gone;
    int rc = wp_metadata_trim(metadata, &gone, real_s, err);
    if (!rc)
        rc = wp_message_pack(&metadata->base, &bytes, err);
    if (!rc)
        rc = wp_txn_put_key(txn, key, bytes.data, bytes.size, err);
    wp_buffer_fini(&bytes);
    return rc;
}

/* Puts `added`, or only takes out the entry of its name. An older entry changes nothing. */
static int put_entry(struct wp_txn *txn, const struct wp_key *key, const Wakepath__Store__Metadata *old,
    entry_type *added, bool is_removal, struct wp_error *err)
{
    Wakepath__Store__Metadata out = WAKEPATH__STORE__METADATA__INIT;
    bool is_older = false;
    out.entries = calloc(old->n_entries + 2, sizeof(*out.entries));
    if (!out.entries)
        return wp_error_set(err, -ENOMEM, "out of memory for metadata");
    for (size_t i = 0; i < old->n_entries; i++) {
        if (wp_metadata_compare_keys(old->entries[i]->key, added->key))
            out.entries[out.n_entries++] = old->entries[i];
        else
            is_older = old->entries[i]->real_s > added->real_s && !is_removal;
    }
    int rc = is_removal && out.n_entries == old->n_entries ? -ENOENT : 0;
    if (rc)
        wp_error_set(err, rc, "no metadata '%.*s'", (int)added->key.len, (const char *)added->key.data);
    if (!is_removal)
        out.entries[out.n_entries++] = added;
    if (out.n_entries)
        qsort(out.entries, out.n_entries, sizeof(*out.entries), wp_metadata_compare);
    if (!rc && !is_older)
        rc = put_trimmed(txn, key, &out, added->real_s, err);
    free(out.entries);
    return rc;
}

int wp_txn_set_metadata(struct wp_txn *txn, const struct wp_metadata_scope *scope,
    const struct wp_metadata_writer *writer, const char *name, const char *value, struct wp_error *err)
{
    struct wp_key key;
    ProtobufCMessage *message = NULL;
    size_t name_size = strnlen(name, KEY_LIMIT + 1);
    if (!name_size || name_size > KEY_LIMIT)
        return wp_error_set(err, -EINVAL, "a metadata key has 1 to %u bytes: '%.100s'", KEY_LIMIT, name);
    int rc = make_key(&key, scope, writer->shard, err);
    if (!rc)
        rc = load(txn, &key, &message, err);
    if (!rc) {
        entry_type added = WAKEPATH__STORE__METADATA__ENTRY__INIT;
        added.key = (ProtobufCBinaryData){name_size, (uint8_t *)(uintptr_t)name};
        if (value)
            added.value = (ProtobufCBinaryData){strnlen(value, WP_TEXT_LIMIT), (uint8_t *)(uintptr_t)value};
        added.real_s = writer->real_s;
        rc = put_entry(txn, &key, (const Wakepath__Store__Metadata *)message, &added, !value, err);
    }
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

struct merged { /* an entry and where it stood: of two alike the later one by time, then by place, counts */
    entry_type *entry;
    size_t place;
};

static int compare_merged(const void *left, const void *right)
{
    const struct merged *a = left, *b = right;
    int rc = wp_metadata_compare_keys(a->entry->key, b->entry->key);
    if (!rc && a->entry->real_s != b->entry->real_s)
        rc = a->entry->real_s < b->entry->real_s ? -1 : 1;
    return rc ? rc : a->place < b->place ? -1 : a->place > b->place;
}

static int fill_entry(entry_type *entry, const struct wp_metadata_entry *from, uint64_t real_s, struct wp_error *err)
{
    size_t size = strnlen(from->key, KEY_LIMIT + 1);
    if (!size || size > KEY_LIMIT)
        return wp_error_set(err, -EINVAL, "a metadata key has 1 to %u bytes: '%.100s'", KEY_LIMIT, from->key);
    wakepath__store__metadata__entry__init(entry);
    entry->key = (ProtobufCBinaryData){size, (uint8_t *)(uintptr_t)from->key};
    entry->value = (ProtobufCBinaryData){strnlen(from->value, WP_TEXT_LIMIT), (uint8_t *)(uintptr_t)from->value};
    entry->real_s = real_s;
    return 0;
}

static int save_merged(struct wp_txn *txn, const struct wp_key *key, const struct merged *rows, size_t count,
    uint64_t real_s, struct wp_error *err)
{
    Wakepath__Store__Metadata out = WAKEPATH__STORE__METADATA__INIT;
    out.entries = calloc(count + 1, sizeof(*out.entries));
    int rc = out.entries ? 0 : wp_error_set(err, -ENOMEM, "out of memory for metadata");
    for (size_t i = 0; !rc && i < count; i++)
        if (i + 1 == count || wp_metadata_compare_keys(rows[i].entry->key, rows[i + 1].entry->key))
            out.entries[out.n_entries++] = rows[i].entry;
    if (!rc)
        rc = put_trimmed(txn, key, &out, real_s, err);
    free(out.entries);
    return rc;
}

int wp_txn_put_metadata_at(struct wp_txn *txn, const struct wp_metadata_scope *scope,
    const struct wp_metadata_writer *writer, const struct wp_metadata_entry *entries, size_t count,
    struct wp_error *err)
{
    struct wp_key key;
    ProtobufCMessage *message = NULL;
    int rc = count ? make_key(&key, scope, writer->shard, err) : 0;
    if (!rc && count)
        rc = load(txn, &key, &message, err);
    if (rc || !count)
        return rc;
    const Wakepath__Store__Metadata *old = (const Wakepath__Store__Metadata *)message;
    entry_type *added = calloc(count, sizeof(*added));
    struct merged *rows = calloc(old->n_entries + count, sizeof(*rows));
    if (!added || !rows)
        rc = wp_error_set(err, -ENOMEM, "out of memory for metadata");
    for (size_t i = 0; !rc && i < old->n_entries; i++)
        rows[i] = (struct merged){old->entries[i], i};
    for (size_t i = 0; !rc && i < count; i++) {
        rc = fill_entry(&added[i], &entries[i], writer->real_s, err);
        rows[old->n_entries + i] = (struct merged){&added[i], old->n_entries + i};
    }
    if (!rc) {
        qsort(rows, old->n_entries + count, sizeof(*rows), compare_merged);
        rc = save_merged(txn, &key, rows, old->n_entries + count, writer->real_s, err);
    }
    free(rows);
    free(added);
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

/* --- reading: all shards' entries, sorted, the winner of each key first --- */

struct row {
    char *shard, *key, *value;
    uint64_t real_s;
};

struct rows {
    struct row *rows;
    size_t count;
};

static int compare_rows(const void *left, const void *right)
{
    const struct row *a = left, *b = right;
    int rc = strcmp(a->key, b->key);
    if (!rc && a->real_s != b->real_s)
        rc = a->real_s > b->real_s ? -1 : 1;
    return rc ? rc : strcmp(b->shard, a->shard);
}

static int add_rows(struct rows *rows, const char *shard, const Wakepath__Store__Metadata *m)
{
    for (size_t i = 0; i < m->n_entries; i++) {
        if (WP_ARRAY_NEXT(rows->rows, rows->count))
            return -ENOMEM;
        struct row *row = &rows->rows[rows->count++];
        const entry_type *entry = m->entries[i];
        *row = (struct row){strdup(shard), strndup((const char *)entry->key.data, entry->key.len),
            entry->value.len ? strndup((const char *)entry->value.data, entry->value.len) : strdup(""), entry->real_s};
        if (!row->shard || !row->key || !row->value)
            return -ENOMEM;
    }
    return 0;
}

static int load_rows(struct wp_txn *txn, const struct wp_metadata_scope *scope, struct rows *rows, struct wp_error *err)
{
    char prefix[WP_KEY_ROOM], **keys = NULL;
    size_t count = 0;
    const char *aggregate = scope->aggregate ? scope->aggregate : "";
    snprintf(prefix, sizeof(prefix), "%.*s/metadata.", *aggregate ? (int)wp_bucket_base(aggregate) : 128,
        *aggregate ? aggregate : "__state__");
    int rc = wp_txn_keys(txn, prefix, &keys, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct wp_key key;
        ProtobufCMessage *message = NULL;
        if (wp_key_parse(&key, keys[i], NULL) || strcmp(key.aggregate, aggregate) ||
            key.has_timebox != scope->has_timebox || (key.has_timebox && key.timebox_s != scope->timebox_s))
            continue;
        rc = load(txn, &key, &message, err);
        if (!rc && add_rows(rows, key.shard, (const Wakepath__Store__Metadata *)message))
            rc = wp_error_set(err, -ENOMEM, "out of memory for metadata");
        protobuf_c_message_free_unpacked(message, NULL);
    }
    wp_strings_free(keys, count);
    return rc;
}

int wp_txn_all_metadata(struct wp_txn *txn, const struct wp_metadata_scope *scope,
    int (*visit)(void *context, const struct wp_metadata_row *row), void *context, struct wp_error *err)
{
    struct rows rows = {0};
    int rc = load_rows(txn, scope, &rows, err);
    if (!rc && rows.count)
        qsort(rows.rows, rows.count, sizeof(*rows.rows), compare_rows);
    for (size_t i = 0; !rc && i < rows.count; i++) {
        const struct row *row = &rows.rows[i];
        bool is_winner = !i || strcmp(row->key, rows.rows[i - 1].key);
        rc = visit(context, &(struct wp_metadata_row){row->shard, row->key, row->value, row->real_s, is_winner});
    }
    for (size_t i = 0; i < rows.count; i++) {
        free(rows.rows[i].shard);
        free(rows.rows[i].key);
        free(rows.rows[i].value);
    }
    free(rows.rows);
    return rc;
}
