/* SPDX-License-Identifier: Apache-2.0 */
/* A shard's flag, and in its head where the shard comes from: two that only share a name are distinguished when stores
 * are merged, and one that is merged again is known again. */
#include "storage/kind/shard_store.h"

#include "common/strings.h"
#include "proto/store.pb-c.h"
#include "storage/env/txn_body.h"
#include "storage/kind/release_store.h"
#include "storage/value/columns.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <uuid/uuid.h>

#define LABEL "origin"

static int shard_key(
    struct wp_key *key, enum wp_value_kind kind, const char *shard, char text[WP_KEY_ROOM], struct wp_error *err)
{
    *key = (struct wp_key){.kind = kind};
    if ((size_t)snprintf(key->shard, sizeof(key->shard), "%s", shard) >= sizeof(key->shard))
        return wp_error_set(err, -EINVAL, "a shard's id has at most 128 bytes: '%.150s...'", shard);
    return wp_key_format(key, text, err);
}

static bool is_there(struct wp_txn *txn, const char *text, int *rc, struct wp_error *err)
{
    const uint8_t *bytes;
    size_t size;
    *rc = wp_txn_stored(txn, text, &bytes, &size, err);
    if (*rc != -ENOENT)
        return true;
    *rc = 0;
    return false;
}

int wp_txn_put_shard(struct wp_txn *txn, const char *shard, const uint8_t origin[16], struct wp_error *err)
{
    Wakepath__Store__Head head = WAKEPATH__STORE__HEAD__INIT;
    Wakepath__Store__Label label = WAKEPATH__STORE__LABEL__INIT, *labels[] = {&label};
    struct wp_buffer bytes = {0};
    struct wp_key key;
    char text[WP_KEY_ROOM];
    label.key = (ProtobufCBinaryData){strlen(LABEL), (uint8_t *)(uintptr_t)LABEL};
    label.value = (ProtobufCBinaryData){16, (uint8_t *)(uintptr_t)origin};
    head.labels = labels;
    head.n_labels = 1;
    int rc = shard_key(&key, WP_VALUE_SHARD, shard, text, err);
    if (!rc)
        rc = wp_message_pack(&head.base, &bytes, err);
    if (!rc)
        rc = wp_txn_put_headed(txn, text, &(struct wp_raw_value){WP_VALUE_SHARD, &bytes, NULL, 0}, err);
    wp_buffer_fini(&bytes);
    return rc;
}

int wp_txn_register_shard(struct wp_txn *txn, const char *shard, struct wp_error *err)
{
    static const enum wp_value_kind kinds[] = {WP_VALUE_SHARD, WP_VALUE_METADATA, WP_VALUE_LAST_SAMPLE,
        WP_VALUE_GENEALOGY, WP_VALUE_SOURCEMAP, WP_VALUE_SOURCE, WP_VALUE_CLOCK};
    int rc = 0;
    for (size_t i = 0; !rc && i < sizeof(kinds) / sizeof(*kinds); i++) {
        char text[WP_KEY_ROOM];
        struct wp_key key;
        uuid_t origin;
        rc = shard_key(&key, kinds[i], shard, text, err);
        if (rc || is_there(txn, text, &rc, err))
            continue;
        if (kinds[i] == WP_VALUE_SHARD) {
            uuid_generate_random(origin);
            rc = wp_txn_put_shard(txn, shard, origin, err);
        } else {
            rc = wp_txn_put(txn, text, kinds[i], NULL, 0, err);
        }
    }
    return rc;
}

int wp_shard_origin_of(const struct wp_value *value, uint8_t origin[16])
{
    ProtobufCMessage *message = value->head_size
        ? wp_message_unpack(&wakepath__store__head__descriptor, value->head, value->head_size, "head", NULL)
        : NULL;
    const Wakepath__Store__Head *head = (const Wakepath__Store__Head *)message;
    int rc = -ENOENT;
    for (size_t i = 0; head && i < head->n_labels; i++) {
        const Wakepath__Store__Label *label = head->labels[i];
        if (label->value.len != 16 || label->key.len != strlen(LABEL) || memcmp(label->key.data, LABEL, strlen(LABEL)))
            continue;
        memcpy(origin, label->value.data, 16);
        rc = 0;
    }
    protobuf_c_message_free_unpacked(message, NULL);
    return rc;
}

int wp_txn_shard_origin(struct wp_txn *txn, const char *shard, uint8_t origin[16], struct wp_error *err)
{
    struct wp_key key;
    struct wp_value value;
    char text[WP_KEY_ROOM];
    int rc = shard_key(&key, WP_VALUE_SHARD, shard, text, err);
    if (!rc)
        rc = wp_txn_value(txn, text, WP_VALUE_SHARD, &value, err);
    if (!rc && wp_shard_origin_of(&value, origin))
        rc = wp_error_set(err, -ENODATA, "shard '%s' of '%s' in '%s' does not say where it comes from", shard,
            txn->env->release, txn->store->root);
    return rc;
}

int wp_txn_shard_of_origin(struct wp_txn *txn, const uint8_t origin[16], char shard[WP_ID_ROOM], struct wp_error *err)
{
    char **shards = NULL;
    size_t count = 0;
    uint8_t found[16];
    int rc = wp_txn_shards(txn, &shards, &count, err), result = -ENOENT;
    for (size_t i = 0; !rc && i < count && result; i++)
        if (!wp_txn_shard_origin(txn, shards[i], found, NULL) && !memcmp(found, origin, 16)) {
            snprintf(shard, WP_ID_ROOM, "%s", shards[i]);
            result = 0;
        }
    wp_strings_free(shards, count);
    return rc ? rc : result;
}
