/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/upkeep/verify.h"

#include "proto/store.pb-c.h"
#include "storage/env/env_pages.h"
#include "storage/env/txn.h"
#include "storage/env/txn_body.h"
#include "storage/kind/bucket_store.h"
#include "storage/kind/value_check.h"
#include "storage/value/columns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

struct pass {
    struct wp_verify *verify;
    struct wp_txn *txn;
    const char *release;
    int rc; /* out of memory or another fault */
};

static void fault(struct pass *pass, const char *key, const char *reason)
{
    pass->verify->faults++;
    pass->verify->fault(pass->verify->context, pass->release, key, reason);
}

static bool has_key(struct wp_txn *txn, const struct wp_key *key)
{
    char text[WP_KEY_ROOM];
    const uint8_t *bytes;
    size_t size;
    return !wp_key_format(key, text, NULL) && !wp_txn_stored(txn, text, &bytes, &size, NULL);
}

static void check_shard(struct pass *pass, const char *text, const struct wp_key *key)
{
    struct wp_key flag = {.kind = WP_VALUE_SHARD};
    if (key->kind == WP_VALUE_BLOB || key->kind == WP_VALUE_SHARD)
        return;
    memcpy(flag.shard, key->shard, sizeof(flag.shard));
    if (!has_key(pass->txn, &flag))
        fault(pass, text, "its shard has no flag under __state__/shard.");
}

/* A session that is in the store has a last sample, or nothing would ever clean it up. */
static void check_session(struct pass *pass, const char *text, const struct wp_key *key)
{
    struct wp_key last = {.kind = WP_VALUE_LAST_SAMPLE};
    struct wp_buffer raw = {0};
    bool found = false;
    if (key->kind != WP_VALUE_PROCESSED)
        return;
    memcpy(last.shard, key->shard, sizeof(last.shard));
    ProtobufCMessage *message = NULL;
    if (!wp_txn_get_key(pass->txn, &last, &raw, NULL))
        message = wp_message_unpack(&wakepath__store__last_sample__descriptor, raw.data, raw.size, "last_sample", NULL);
    const Wakepath__Store__LastSample *m = (const Wakepath__Store__LastSample *)message;
    for (size_t i = 0; m && !found && i < m->n_entries; i++)
        found = m->entries[i]->session.len == 16 && !memcmp(m->entries[i]->session.data, key->session, 16);
    if (!found)
        fault(pass, text, "its session is not in the shard's last_sample");
    protobuf_c_message_free_unpacked(message, NULL);
    wp_buffer_fini(&raw);
}

static void check_sources(struct pass *pass, const char *text, const struct wp_key *key, const struct wp_buffer *raw)
{
    if (key->kind != WP_VALUE_SOURCE)
        return;
    ProtobufCMessage *message =
        wp_message_unpack(&wakepath__store__source__descriptor, raw->data, raw->size, "source", NULL);
    const Wakepath__Store__Source *m = (const Wakepath__Store__Source *)message;
    for (size_t i = 0; m && i < m->n_processes; i++) {
        for (size_t j = 0; j < m->processes[i]->n_digests; j++) {
            struct wp_key blob = {.kind = WP_VALUE_BLOB};
            memcpy(blob.digest, m->processes[i]->digests[j].data, sizeof(blob.digest));
            if (!has_key(pass->txn, &blob))
                fault(pass, text, "it names a __source__ value that is not there");
        }
    }
    protobuf_c_message_free_unpacked(message, NULL);
}

/* A bucket is named by its parameters, which its metadata says. */
static void check_bucket(struct pass *pass, const char *text, const struct wp_key *key)
{
    struct wp_error err = {0};
    if (key->kind == WP_VALUE_METADATA && *key->aggregate && !key->has_timebox &&
        wp_bucket_check(pass->txn, key->aggregate, &err))
        fault(pass, text, err.text);
}

int wp_verify_value(
    struct wp_txn *txn, const char *text, const struct wp_key *key, struct wp_buffer *raw, struct wp_error *err)
{
    const uint8_t *bytes;
    size_t size;
    struct wp_value value;
    int rc = wp_txn_stored(txn, text, &bytes, &size, err);
    if (rc == -ENOENT)
        return wp_error_set(err, -EBADMSG, "it is listed and cannot be found: the order of keys is damaged");
    if (!rc)
        rc = wp_value_parse(&value, bytes, size, err);
    if (!rc && value.kind != key->kind)
        rc = wp_error_set(err, -EBADMSG, "holds a %s where a %s belongs", wp_value_kind_name(value.kind),
            wp_value_kind_name(key->kind));
    if (!rc)
        rc = wp_value_unwrap(&txn->zstd, &value, raw, err);
    return rc ? rc : wp_value_check(key, &value, raw, err);
}

static int check_key(void *context, const char *text, size_t value_size)
{
    struct pass *pass = context;
    struct wp_buffer raw = {0};
    struct wp_error err = {0};
    struct wp_key key;
    pass->verify->keys++;
    pass->verify->stored_bytes += value_size;
    if (wp_key_parse(&key, text, &err)) {
        fault(pass, text, err.text);
        return 0;
    }
    int rc = wp_verify_value(pass->txn, text, &key, &raw, &err);
    pass->verify->raw_bytes += raw.size;
    if (rc == -ENOMEM) {
        pass->rc = rc;
    } else if (rc) {
        fault(pass, text, err.text);
    } else {
        check_shard(pass, text, &key);
        check_session(pass, text, &key);
        check_sources(pass, text, &key, &raw);
        check_bucket(pass, text, &key);
    }
    wp_buffer_fini(&raw);
    return pass->rc;
}

/* A page that has lost keys still reads well: the tree's own count tells. */
static void check_count(struct pass *pass, uint64_t counted)
{
    MDB_stat stat;
    char reason[160];
    if (mdb_stat(pass->txn->mdb, pass->txn->dbi, &stat) || stat.ms_entries == counted)
        return;
    snprintf(reason, sizeof(reason), "data.mdb says that it holds %zu keys, %llu can be read", stat.ms_entries,
        (unsigned long long)counted);
    fault(pass, "", reason);
}

static int tell_head(void *context, const struct wp_env_head *head)
{
    char key[WP_KEY_ROOM], reason[200];
    snprintf(
        key, sizeof(key), "%.*s", (int)(head->key_size < sizeof(key) ? head->key_size : sizeof(key) - 1), head->key);
    snprintf(reason, sizeof(reason),
        "it has %u pages, the first one says %llu or is not such a page: it can be read and not deleted; repair mends "
        "that",
        head->pages, (unsigned long long)head->said);
    fault(context, key, reason);
    return 0;
}

int wp_verify_release(struct wp_verify *verify, struct wp_store *store, const char *release, struct wp_error *err)
{
    struct pass pass = {.verify = verify, .release = release};
    int rc = wp_txn_begin(&pass.txn, store, release, false, err);
    if (rc == -EBADMSG) {
        fault(&pass, "", err ? err->text : "data.mdb is damaged");
        return 0;
    }
    if (rc)
        return rc;
    struct wp_error reason = {0};
    uint64_t before = verify->keys;
    rc = wp_txn_visit(pass.txn, "", check_key, &pass, &reason);
    if (!rc)
        check_count(&pass, verify->keys - before);
    if (!rc)
        rc = wp_env_look(
            pass.txn->env->mdb, pass.txn->mdb, &(struct wp_env_look){.ruined = tell_head, .context = &pass}, &reason);
    wp_txn_abort(pass.txn);
    if (pass.rc)
        return wp_error_set(err, pass.rc, "out of memory while reading release '%s'", release);
    if (rc)
        fault(&pass, "", reason.text);
    return 0;
}
