/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/kind/source_texts.h"

#include "common/strings.h"
#include "proto/store.pb-c.h"
#include "storage/env/txn.h"
#include "storage/value/columns.h"
#include "storage/value/keys.h"
#include "storage/value/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int visit_process(const Wakepath__Store__Source__Process *process,
    int (*visit)(void *context, const char *path, const uint8_t digest[16]), void *context)
{
    int rc = 0;
    if (process->host.len || process->pid)
        return 0;
    for (size_t i = 0; !rc && i < process->n_names && i < process->n_digests; i++) {
        const ProtobufCBinaryData *name = &process->names[i];
        char *path = name->len && name->len <= WP_TEXT_LIMIT ? strndup((const char *)name->data, name->len) : NULL;
        if (path && process->digests[i].len == 16)
            rc = visit(context, path, process->digests[i].data);
        free(path);
    }
    return rc;
}

int wp_txn_source_texts(struct wp_txn *txn, int (*visit)(void *context, const char *path, const uint8_t digest[16]),
    void *context, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0;
    int rc = wp_txn_keys(txn, "__state__/source.", &keys, &count, err);
    for (size_t i = 0; !rc && i < count; i++) {
        struct wp_buffer bytes = {0};
        Wakepath__Store__Source *m = NULL;
        if (!wp_txn_get(txn, keys[i], WP_VALUE_SOURCE, &bytes, NULL))
            m = (Wakepath__Store__Source *)wp_message_unpack(
                &wakepath__store__source__descriptor, bytes.data, bytes.size, "source", NULL);
        for (size_t j = 0; m && !rc && j < m->n_processes; j++)
            rc = visit_process(m->processes[j], visit, context);
        if (m)
            wakepath__store__source__free_unpacked(m, NULL);
        wp_buffer_fini(&bytes);
    }
    wp_strings_free(keys, count);
    return rc;
}

int wp_txn_get_blob(struct wp_txn *txn, const uint8_t digest[16], struct wp_buffer *out, struct wp_error *err)
{
    struct wp_key key = {.kind = WP_VALUE_BLOB};
    memcpy(key.digest, digest, sizeof(key.digest));
    return wp_txn_get_key(txn, &key, out, err);
}
