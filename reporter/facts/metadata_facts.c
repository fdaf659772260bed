/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/metadata_facts.h"

#include "common/array.h"
#include "common/path.h"
#include "storage/kind/metadata_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_LIMIT 200000u /* of all shards: more than this nobody reads */

struct reading {
    struct wp_pool *pool;
    struct wp_metadata_fact *rows; /* malloc */
    size_t count, room;
};

static int add_row(void *context, const struct wp_metadata_row *row)
{
    struct reading *reading = context;
    if (reading->count == ROWS_LIMIT)
        return 0;
    if (WP_ARRAY_FIT(reading->rows, reading->room, reading->count + 1))
        return -ENOMEM;
    reading->rows[reading->count++] = (struct wp_metadata_fact){wp_pool_text(reading->pool, row->key),
        wp_pool_text(reading->pool, row->value), wp_pool_text(reading->pool, row->shard), row->real_s};
    return 0;
}

static int compare(const void *left, const void *right)
{
    const struct wp_metadata_fact *a = left, *b = right;
    int rc = strcmp(a->key, b->key);
    if (!rc && a->real_s != b->real_s)
        rc = a->real_s > b->real_s ? -1 : 1;
    rc = rc ? rc : strcmp(b->shard, a->shard);
    return rc ? rc : strcmp(a->value, b->value);
}

int wp_metadata_read(struct wp_metadata *metadata, struct wp_pool *pool, const struct wp_snapshot *snapshot,
    const char *aggregate, struct wp_error *err)
{
    struct reading reading = {.pool = pool};
    struct wp_metadata_scope place = {.aggregate = aggregate};
    char bucket[WP_ID_ROOM];
    int rc = 0;
    *metadata = (struct wp_metadata){0};
    if (aggregate && !wp_snapshot_bucket(snapshot, aggregate, bucket, NULL))
        place.aggregate = bucket;
    for (size_t i = 0; i < snapshot->stores->count && !rc; i++)
        if (snapshot->txns[i])
            rc = wp_txn_all_metadata(snapshot->txns[i], &place, add_row, &reading, err);
    struct wp_metadata_fact *rows = rc ? NULL : wp_pool_alloc(pool, (reading.count + 1) * sizeof(*rows));
    if (rows && reading.count) {
        qsort(reading.rows, reading.count, sizeof(*rows), compare);
        memcpy(rows, reading.rows, reading.count * sizeof(*rows));
    }
    if (rows)
        *metadata = (struct wp_metadata){rows, reading.count};
    else if (!rc || rc == -ENOMEM)
        rc = wp_error_set(err, -ENOMEM, "out of memory for metadata");
    free(reading.rows);
    return rc;
}

size_t wp_metadata_find(const struct wp_metadata *metadata, const char *key)
{
    return WP_LOWER_BOUND(middle, 0, metadata->count, strcmp(metadata->rows[middle].key, key) < 0);
}

const char *wp_metadata_text(const struct wp_metadata *metadata, const char *key)
{
    size_t at = wp_metadata_find(metadata, key);
    return at < metadata->count && !strcmp(metadata->rows[at].key, key) ? metadata->rows[at].value : NULL;
}

uint64_t wp_metadata_sum(const struct wp_metadata *metadata, const char *key)
{
    uint64_t sum = 0;
    for (size_t at = wp_metadata_find(metadata, key); at < metadata->count && !strcmp(metadata->rows[at].key, key);
         at++)
        sum += strtoull(metadata->rows[at].value, NULL, 10);
    return sum;
}
