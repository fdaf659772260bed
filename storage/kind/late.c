/* SPDX-License-Identifier: Apache-2.0 */
/* What came late for timeboxes: metadata that aggregators write of them (aggregator/commit/commit_timebox.h). */
#include "storage/kind/late.h"

#include "common/strings.h"
#include "proto/store.pb-c.h"
#include "storage/env/txn.h"
#include "storage/value/bucket.h"
#include "storage/value/columns.h"
#include "storage/value/host_part.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_ROOM 24u
#define HOST "host."
#define OF_HOST ".late.total_ns"
#define OF_ALL "late.total_ns"

static uint64_t number_of(const Wakepath__Store__Metadata__Entry *entry)
{
    char text[NUMBER_ROOM] = "";
    if (entry->value.len < sizeof(text) && entry->value.len)
        memcpy(text, entry->value.data, entry->value.len);
    return strtoull(text, NULL, 10);
}

static bool is_key(const Wakepath__Store__Metadata__Entry *entry, const char *key)
{
    return entry->key.len == strlen(key) && !memcmp(entry->key.data, key, entry->key.len);
}

/* Of a host that is meant. */
static bool is_of_host(const Wakepath__Store__Metadata__Entry *entry, const char *hosts)
{
    size_t around = sizeof(HOST) - 1 + sizeof(OF_HOST) - 1, size = entry->key.len - around;
    char name[256];
    if (entry->key.len <= around || size >= sizeof(name) || memcmp(entry->key.data, HOST, sizeof(HOST) - 1) ||
        memcmp(entry->key.data + sizeof(HOST) - 1 + size, OF_HOST, sizeof(OF_HOST) - 1))
        return false;
    memcpy(name, entry->key.data + sizeof(HOST) - 1, size);
    name[size] = 0;
    return wp_hosts_match(hosts, name);
}

static void add_value(struct wp_late *late, const Wakepath__Store__Metadata *m, const char *hosts)
{
    uint64_t total_ns = 0;
    for (size_t i = 0; i < m->n_entries; i++)
        if (hosts ? is_of_host(m->entries[i], hosts) : is_key(m->entries[i], OF_ALL)) {
            uint64_t ns = number_of(m->entries[i]);
            total_ns = total_ns + ns < ns ? UINT64_MAX : total_ns + ns;
        }
    for (size_t i = 0; total_ns && i < m->n_entries; i++)
        if (is_key(m->entries[i], "late.last_s") && number_of(m->entries[i]) > late->last_s)
            late->last_s = number_of(m->entries[i]);
    late->timeboxes += total_ns != 0;
    late->total_ns = late->total_ns + total_ns < total_ns ? UINT64_MAX : late->total_ns + total_ns;
}

int wp_txn_late(struct wp_txn *txn, const char *aggregate, const struct wp_selection *selection, struct wp_late *late,
    struct wp_error *err)
{
    char prefix[WP_KEY_ROOM], **keys = NULL;
    size_t count = 0;
    snprintf(prefix, sizeof(prefix), "%.*s/metadata.~", (int)wp_bucket_base(aggregate), aggregate);
    int rc = wp_txn_keys(txn, prefix, &keys, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct wp_buffer bytes = {0};
        struct wp_key key;
        if (wp_key_parse(&key, keys[i], NULL) || strcmp(key.aggregate, aggregate) || !wp_selection_has(selection, &key))
            continue;
        rc = wp_txn_get_key(txn, &key, &bytes, err);
        ProtobufCMessage *m = rc
            ? NULL
            : wp_message_unpack(&wakepath__store__metadata__descriptor, bytes.data, bytes.size, "metadata", err);
        if (m)
            add_value(late, (const Wakepath__Store__Metadata *)m, selection ? selection->hosts : NULL);
        else
            rc = rc ? rc : -errno;
        protobuf_c_message_free_unpacked(m, NULL);
        wp_buffer_fini(&bytes);
    }
    wp_strings_free(keys, count);
    return rc;
}
