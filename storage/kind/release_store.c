/* SPDX-License-Identifier: Apache-2.0 */
/* What a release holds as a whole: its aggregates and shards, and the digest that says whether any of it has changed.
 */
#include "storage/kind/release_store.h"

#include "common/path.h"
#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/env/txn_body.h"
#include "storage/report/head.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

/* Jumps from one aggregate's first key to behind its last one; there may be many keys in between. */
struct aggregate_list {
    char **names;
    size_t count, folder; /* where the buckets of the folder that is looked at begin */
    const char *base;
};

static int add_bucket(void *context, const char *text, size_t size)
{
    struct aggregate_list *list = context;
    struct wp_key key;
    (void)size;
    if (wp_key_parse(&key, text, NULL)) /* no key of ours: its folder is shown as it is, for verify to name it */
        snprintf(key.aggregate, sizeof(key.aggregate), "%.128s", list->base);
    for (size_t i = list->folder; i < list->count; i++)
        if (!strcmp(list->names[i], key.aggregate))
            return 0;
    return wp_strings_add(&list->names, &list->count, key.aggregate);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* All of a folder is looked through: what is not said of a bucket may have been damaged. */
static int add_buckets(struct wp_txn *txn, struct aggregate_list *list, const char *name)
{
    char prefix[WP_KEY_ROOM];
    snprintf(prefix, sizeof(prefix), "%s/", name);
    list->folder = list->count;
    list->base = name;
    int rc = wp_txn_visit(txn, prefix, add_bucket, list, NULL);
    if (list->count > list->folder)
        qsort(list->names + list->folder, list->count - list->folder, sizeof(*list->names), compare_names);
    return rc;
}

int wp_txn_aggregates(struct wp_txn *txn, char ***aggregates, size_t *count, struct wp_error *err)
{
    MDB_cursor *cursor;
    MDB_val k, v;
    char name[WP_ID_ROOM + 1];
    struct aggregate_list list = {0};
    *aggregates = NULL;
    *count = 0;
    int rc = mdb_cursor_open(txn->mdb, txn->dbi, &cursor), added = 0;
    if (rc)
        return wp_txn_error(txn, err, rc, "cannot list the aggregates");
    rc = mdb_cursor_get(cursor, &k, &v, MDB_FIRST);
    while (!rc && !added) {
        const char *slash = memchr(k.mv_data, '/', k.mv_size);
        size_t size = slash ? (size_t)(slash - (const char *)k.mv_data) : 0;
        if (!slash || size >= WP_ID_ROOM) { /* no key of ours */
            rc = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
            continue;
        }
        memcpy(name, k.mv_data, size);
        name[size] = 0;
        bool is_name = wp_id_valid(name) && strlen(name) == size; /* else no key of ours is in that folder */
        if (is_name && strcmp(name, "__state__") && strcmp(name, "__source__"))
            added = add_buckets(txn, &list, name);
        name[size] = '/' + 1;
        k = (MDB_val){size + 1, name};
        rc = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
    }
    mdb_cursor_close(cursor);
    if (!added && (!rc || rc == MDB_NOTFOUND)) {
        *aggregates = list.names;
        *count = list.count;
        return 0;
    }
    wp_strings_free(list.names, list.count);
    return added ? wp_error_set(err, -ENOMEM, "out of memory for the list of aggregates")
                 : wp_txn_error(txn, err, rc, "cannot list the aggregates");
}

struct shard_list {
    char **shards;
    size_t count;
};

static int add_shard(void *context, const char *text, size_t value_size)
{
    (void)value_size;
    struct shard_list *list = context;
    struct wp_key key;
    return wp_key_parse(&key, text, NULL) ? 0 : wp_strings_add(&list->shards, &list->count, key.shard);
}

int wp_txn_shards(struct wp_txn *txn, char ***shards, size_t *count, struct wp_error *err)
{
    struct shard_list list = {0};
    *shards = NULL;
    *count = 0;
    int rc = wp_txn_visit(txn, "__state__/shard.", add_shard, &list, err);
    if (rc) {
        wp_strings_free(list.shards, list.count);
        return rc == -ENOMEM ? wp_error_set(err, rc, "out of memory for the list of shards") : rc;
    }
    *shards = list.shards;
    *count = list.count;
    return 0;
}

struct activity {
    struct wp_txn *txn;
    uint64_t first_ns, last_ns;
};

static int see_report(void *context, const char *text, size_t value_size)
{
    struct activity *activity = context;
    struct wp_key key;
    struct wp_value value;
    struct wp_head head;
    (void)value_size;
    if (wp_key_parse(&key, text, NULL) || key.kind != WP_VALUE_REPORT ||
        wp_txn_value(activity->txn, text, WP_VALUE_REPORT, &value, NULL) ||
        wp_head_decode(&head, value.head, value.head_size, NULL))
        return 0;
    if (head.last_ns > activity->last_ns)
        activity->last_ns = head.last_ns;
    if (head.first_ns && (!activity->first_ns || head.first_ns < activity->first_ns))
        activity->first_ns = head.first_ns;
    return 0;
}

int wp_txn_activity(struct wp_txn *txn, uint64_t *first_ns, uint64_t *last_ns, struct wp_error *err)
{
    struct activity activity = {txn, 0, 0};
    int rc = wp_txn_visit(txn, "", see_report, &activity, err);
    *first_ns = activity.first_ns;
    *last_ns = activity.last_ns;
    return rc;
}
