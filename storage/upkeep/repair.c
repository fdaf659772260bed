/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/upkeep/repair.h"

#include "common/strings.h"
#include "proto/store.pb-c.h"
#include "storage/env/env_pages.h"
#include "storage/env/txn.h"
#include "storage/env/txn_body.h"
#include "storage/kind/shard_store.h"
#include "storage/kind/source_store.h"
#include "storage/kind/state_store.h"
#include "storage/upkeep/verify.h"
#include "storage/value/columns.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void tell_damage(
    const struct wp_repair *repair, const char *key, bool is_dropped, const char *reason, const char *meaning)
{
    char what[WP_ERROR_TEXT + 128];
    snprintf(what, sizeof(what), "%s%s%s", reason, *meaning ? "; " : "", meaning);
    repair->done(repair->context, key, what, is_dropped);
}

/* What its loss does beyond itself. */
static const char *meaning_of(const struct wp_key *key)
{
    switch (key->kind) {
    case WP_VALUE_PROCESSED:
        return "what its session sends again counts twice";
    case WP_VALUE_SHARD:
        return "the shard gets a new origin, and counts as another one when stores are merged";
    case WP_VALUE_LAST_SAMPLE:
        return "its sessions count as heard of just now";
    default:
        return "";
    }
}

static int drop_damaged(struct wp_txn *txn, const struct wp_repair *repair, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0;
    int rc = wp_txn_keys(txn, "", &keys, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct wp_key key = {0};
        struct wp_buffer raw = {0};
        struct wp_error reason = {0};
        int fault = wp_key_parse(&key, keys[i], &reason);
        if (!fault)
            fault = wp_verify_value(txn, keys[i], &key, &raw, &reason);
        wp_buffer_fini(&raw);
        if (fault == -ENOMEM) {
            rc = wp_error_set(err, fault, "out of memory for '%s'", keys[i]);
        } else if (fault &&
            fault != -EPROTONOSUPPORT) { /* a newer program's value is well, it is we who cannot read it */
            rc = wp_txn_delete(txn, keys[i], err);
            if (rc == -EBADMSG && repair->is_dry) /* its head would have been mended */
                rc = 0;
            if (!rc)
                tell_damage(repair, keys[i], true, reason.text, meaning_of(&key));
        }
    }
    wp_strings_free(keys, count);
    return rc;
}

/* Flags and empty state of every shard that a key names. */
static int mend_shards(
    struct wp_txn *txn, const struct wp_repair *repair, char **keys, size_t count, struct wp_error *err)
{
    struct wp_key key, flag = {.kind = WP_VALUE_SHARD};
    char text[WP_KEY_ROOM];
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++) {
        const uint8_t *bytes;
        size_t size;
        if (wp_key_parse(&key, keys[i], NULL) || !*key.shard)
            continue;
        memcpy(flag.shard, key.shard, sizeof(flag.shard));
        bool is_new = !wp_key_format(&flag, text, NULL) && wp_txn_stored(txn, text, &bytes, &size, NULL) == -ENOENT;
        rc = wp_txn_register_shard(txn, key.shard, err);
        if (!rc && is_new)
            tell_damage(repair, text, false, "registered again", "");
    }
    return rc;
}

static bool has_last(const struct wp_buffer *raw, const uint8_t session[16])
{
    ProtobufCMessage *message =
        wp_message_unpack(&wakepath__store__last_sample__descriptor, raw->data, raw->size, "last_sample", NULL);
    const Wakepath__Store__LastSample *m = (const Wakepath__Store__LastSample *)message;
    bool found = false;
    for (size_t i = 0; m && !found && i < m->n_entries; i++)
        found = m->entries[i]->session.len == 16 && !memcmp(m->entries[i]->session.data, session, 16);
    protobuf_c_message_free_unpacked(message, NULL);
    return found;
}

static int mend_sessions(
    struct wp_txn *txn, const struct wp_repair *repair, char **keys, size_t count, struct wp_error *err)
{
    struct wp_key key, last = {.kind = WP_VALUE_LAST_SAMPLE};
    int rc = 0;
    for (size_t i = 0; !rc && i < count; i++) {
        struct wp_buffer raw = {0};
        if (wp_key_parse(&key, keys[i], NULL) || key.kind != WP_VALUE_PROCESSED)
            continue;
        memcpy(last.shard, key.shard, sizeof(last.shard));
        rc = wp_txn_get_key(txn, &last, &raw, err);
        if (!rc && !has_last(&raw, key.session)) {
            rc = wp_txn_put_last_sample(txn, key.shard, key.session, repair->now_s, err);
            tell_damage(repair, keys[i], false, "its session counts as heard of just now", "");
        }
        wp_buffer_fini(&raw);
    }
    return rc;
}

static bool has_blob(struct wp_txn *txn, ProtobufCBinaryData digest)
{
    struct wp_key blob = {.kind = WP_VALUE_BLOB};
    char text[WP_KEY_ROOM];
    const uint8_t *bytes;
    size_t size;
    if (digest.len != sizeof(blob.digest))
        return false;
    memcpy(blob.digest, digest.data, sizeof(blob.digest));
    return !wp_key_format(&blob, text, NULL) && !wp_txn_stored(txn, text, &bytes, &size, NULL);
}

/* A process forgets the objects that are not there; names and digests move together. */
static size_t forget_blobs(struct wp_txn *txn, Wakepath__Store__Source__Process *process)
{
    size_t kept = 0, count = process->n_digests;
    for (size_t i = 0; i < count; i++) {
        ProtobufCBinaryData name = process->names[i], digest = process->digests[i];
        if (!has_blob(txn, digest))
            continue;
        process->names[i] = process->names[kept]; /* swapped, so that all are freed */
        process->digests[i] = process->digests[kept];
        process->names[kept] = name;
        process->digests[kept++] = digest;
    }
    process->n_names = process->n_digests = kept;
    return count - kept;
}

static int mend_source(struct wp_txn *txn, const struct wp_repair *repair, const char *key, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    size_t forgotten = 0;
    int rc = wp_txn_get(txn, key, WP_VALUE_SOURCE, &bytes, err);
    Wakepath__Store__Source *m = rc ? NULL
                                    : (Wakepath__Store__Source *)wp_message_unpack(
                                          &wakepath__store__source__descriptor, bytes.data, bytes.size, "source", err);
    size_t *counts = m ? calloc(m->n_processes + 1, sizeof(*counts)) : NULL;
    wp_buffer_clear(&bytes);
    if (!rc && !counts)
        rc = wp_error_set(err, -ENOMEM, "out of memory for '%s'", key);
    for (size_t i = 0; !rc && i < m->n_processes; i++) {
        counts[i] = m->processes[i]->n_digests;
        forgotten += forget_blobs(txn, m->processes[i]);
    }
    struct wp_buffer canonical = {0}; /* without processes that have nothing left */
    if (!rc && forgotten)
        rc = wp_message_pack(&m->base, &bytes, err);
    if (!rc && forgotten)
        rc = wp_source_join(&bytes, 1, &canonical, err);
    if (!rc && forgotten)
        rc = wp_txn_put(txn, key, WP_VALUE_SOURCE, canonical.data, canonical.size, err);
    wp_buffer_fini(&canonical);
    if (!rc && forgotten)
        tell_damage(repair, key, false, "names no more what is not there", "");
    for (size_t i = 0; counts && i < m->n_processes; i++)
        m->processes[i]->n_names = m->processes[i]->n_digests = counts[i] ? counts[i] : m->processes[i]->n_digests;
    if (m)
        wakepath__store__source__free_unpacked(m, NULL);
    free(counts);
    wp_buffer_fini(&bytes);
    return rc;
}

struct heads {
    struct wp_txn *txn;
    const struct wp_repair *repair;
    struct wp_error *err;
};

static int mend_head(void *context, const struct wp_env_head *head)
{
    struct heads *heads = context;
    char key[WP_KEY_ROOM];
    snprintf(
        key, sizeof(key), "%.*s", (int)(head->key_size < sizeof(key) ? head->key_size : sizeof(key) - 1), head->key);
    tell_damage(heads->repair, key, false, "the head of its pages is written anew", "");
    return heads->repair->is_dry ? 0 : wp_env_mend_head(heads->txn->env->mdb, head, heads->err);
}

/* First of all: what has a ruined head cannot be deleted. This is written past the transaction, under its writer lock.
 */
static int mend_heads(struct wp_txn *txn, const struct wp_repair *repair, struct wp_error *err)
{
    struct heads heads = {txn, repair, err};
    return wp_env_look(txn->env->mdb, txn->mdb, &(struct wp_env_look){.ruined = mend_head, .context = &heads}, err);
}

int wp_txn_repair(struct wp_txn *txn, const struct wp_repair *repair, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0;
    struct wp_key key;
    int rc = mend_heads(txn, repair, err);
    if (!rc)
        rc = drop_damaged(txn, repair, err);
    if (!rc)
        rc = wp_txn_keys(txn, "", &keys, &count, err);
    if (!rc)
        rc = mend_shards(txn, repair, keys, count, err);
    if (!rc)
        rc = mend_sessions(txn, repair, keys, count, err);
    for (size_t i = 0; !rc && i < count; i++)
        if (!wp_key_parse(&key, keys[i], NULL) && key.kind == WP_VALUE_SOURCE)
            rc = mend_source(txn, repair, keys[i], err);
    wp_strings_free(keys, count);
    return rc;
}
