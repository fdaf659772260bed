/* SPDX-License-Identifier: Apache-2.0 */
/* value_seeds ROOT RELEASE DIR: a seed of each kind of value for fuzz_value, from a store: the smallest of a kind as it
 * is stored, and its body. */
#include "storage/env/store.h"
#include "storage/env/txn.h"

#include <stdio.h>
#include <string.h>

struct search {
    struct wp_txn *txn;
    char keys[WP_VALUE_KINDS][WP_KEY_ROOM];
    size_t sizes[WP_VALUE_KINDS];
};

static int look_at(void *context, const char *text, size_t size)
{
    struct search *search = context;
    struct wp_key key;
    if (wp_key_parse(&key, text, NULL) || size <= WP_VALUE_HEADER ||
        (search->sizes[key.kind] && search->sizes[key.kind] <= size))
        return 0;
    search->sizes[key.kind] = size;
    snprintf(search->keys[key.kind], WP_KEY_ROOM, "%s", text);
    return 0;
}

static void put(
    const char *folder, const char *name, const uint8_t *start, size_t start_size, const uint8_t *bytes, size_t size)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *out = fopen(path, "wb");
    if (!out)
        return;
    fwrite(start, 1, start_size, out);
    fwrite(bytes, 1, size, out);
    fclose(out);
}

int main(int argc, char **argv)
{
    struct search search = {0};
    struct wp_store *store;
    if (argc != 4 || wp_store_open(&store, argv[1], false, NULL) ||
        wp_txn_begin(&search.txn, store, argv[2], false, NULL))
        return 1;
    wp_txn_visit(search.txn, "", look_at, &search, NULL);
    for (unsigned kind = 1; kind < WP_VALUE_KINDS; kind++) {
        const uint8_t *stored, as_stored[1] = {0}, as_body[2] = {1, (uint8_t)(kind - 1)};
        struct wp_buffer raw = {0};
        char name[64];
        size_t size;
        if (!search.sizes[kind] || wp_txn_stored(search.txn, search.keys[kind], &stored, &size, NULL))
            continue;
        snprintf(name, sizeof(name), "%s_stored", wp_value_kind_name((enum wp_value_kind)kind));
        put(argv[3], name, as_stored, 1, stored, size);
        snprintf(name, sizeof(name), "%s_body", wp_value_kind_name((enum wp_value_kind)kind));
        if (!wp_txn_get(search.txn, search.keys[kind], (enum wp_value_kind)kind, &raw, NULL))
            put(argv[3], name, as_body, 2, raw.data, raw.size);
        wp_buffer_fini(&raw);
    }
    wp_txn_abort(search.txn);
    wp_store_close(store);
    return 0;
}
