/* SPDX-License-Identifier: Apache-2.0 */
/* Reports and their deltas become their sum. */
#include "storage/kind/report_compact.h"

#include "common/strings.h"
#include "storage/kind/genealogy_store.h"
#include "storage/kind/release_store.h"
#include "storage/kind/report_store.h"
#include "storage/kind/source_store.h"
#include "storage/kind/sourcemap_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare_parts(const void *left, const void *right)
{
    const struct wp_report_part *a = left, *b = right;
    int rc = strcmp(a->key.shard, b->key.shard);
    if (!rc)
        rc = strcmp(a->key.host, b->key.host);
    if (rc)
        return rc;
    if (a->key.timebox_s != b->key.timebox_s)
        return a->key.timebox_s < b->key.timebox_s ? -1 : 1;
    return strcmp(a->text, b->text);
}

/* Takes the keys. */
static int read_parts(struct wp_txn *txn, char **keys, size_t count, const char *shard, struct wp_report_parts *parts,
    struct wp_error *err)
{
    parts->rows = calloc(count + 1, sizeof(*parts->rows));
    int rc = parts->rows ? 0 : wp_error_set(err, -ENOMEM, "out of memory for %zu reports", count);
    for (size_t i = 0; !rc && i < count; i++) {
        struct wp_report_part *part = &parts->rows[parts->count];
        if (wp_key_parse(&part->key, keys[i], NULL) || (shard && strcmp(part->key.shard, shard)))
            continue;
        part->text = keys[i];
        part->length_s = wp_txn_timebox_length(txn, keys[i]);
        keys[i] = NULL;
        parts->count++;
    }
    for (size_t i = 0; i < count; i++)
        free(keys[i]);
    free(keys);
    if (!rc)
        qsort(parts->rows, parts->count, sizeof(*parts->rows), compare_parts);
    return rc;
}

int wp_txn_report_parts(
    struct wp_txn *txn, const char *aggregate, const char *shard, struct wp_report_parts *parts, struct wp_error *err)
{
    char **keys = NULL;
    size_t count = 0;
    *parts = (struct wp_report_parts){0};
    int rc = wp_txn_list(txn, aggregate, "report", &keys, &count, err);
    return rc ? rc : read_parts(txn, keys, count, shard, parts, err);
}

void wp_report_parts_fini(struct wp_report_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        free(parts->rows[i].text);
    free(parts->rows);
    *parts = (struct wp_report_parts){0};
}

int wp_txn_sum_parts(struct wp_txn *txn, const struct wp_report_parts *parts, uint64_t timebox_s, uint64_t length_s,
    bool *is_done, struct wp_error *err)
{
    struct wp_report *sum = NULL;
    struct wp_key key = parts->rows[0].key;
    int rc = 0;
    *is_done = false;
    for (size_t i = 0; !rc && i < parts->count; i++)
        rc = wp_txn_merge_report(txn, parts->rows[i].text, &sum, err);
    if (wp_is_damage(rc)) {
        wp_report_destroy(sum);
        return 0;
    }
    key.has_delta = false;
    key.timebox_s = timebox_s;
    if (!rc)
        rc = wp_report_make_canonical(&sum, err);
    if (!rc)
        rc = wp_txn_put_report(txn, &key, sum, length_s, err);
    for (size_t i = 0; !rc && i < parts->count; i++)
        if (parts->rows[i].key.has_delta || parts->rows[i].key.timebox_s != timebox_s)
            rc = wp_txn_delete(txn, parts->rows[i].text, err);
    wp_report_destroy(sum);
    *is_done = !rc;
    return rc;
}

static bool same_report(const struct wp_key *a, const struct wp_key *b)
{
    return a->timebox_s == b->timebox_s && !strcmp(a->shard, b->shard) && !strcmp(a->host, b->host);
}

static int compact_aggregate(struct wp_txn *txn, const char *aggregate, const char *shard, struct wp_error *err)
{
    struct wp_report_parts parts;
    int rc = wp_txn_report_parts(txn, aggregate, shard, &parts, err);
    for (size_t from = 0, to; !rc && from < parts.count; from = to) {
        bool has_delta = false, is_done;
        uint64_t length_s = 0; /* late data of a rolled-up timebox: it stays as long as it is */
        for (to = from; to < parts.count && same_report(&parts.rows[from].key, &parts.rows[to].key); to++) {
            has_delta |= parts.rows[to].key.has_delta;
            length_s = parts.rows[to].length_s > length_s ? parts.rows[to].length_s : length_s;
        }
        if (has_delta)
            rc = wp_txn_sum_parts(txn, &(struct wp_report_parts){parts.rows + from, to - from},
                parts.rows[from].key.timebox_s, length_s, &is_done, err);
    }
    wp_report_parts_fini(&parts);
    return rc;
}

int wp_txn_compact_report(struct wp_txn *txn, const struct wp_key *key, struct wp_error *err)
{
    struct wp_report_parts parts = {0};
    struct wp_key base = *key;
    char text[WP_KEY_ROOM], **keys = NULL;
    size_t key_count = 0, from = 0, to;
    uint64_t length_s = 0;
    bool is_done;
    base.has_delta = false;
    int rc = wp_key_format(&base, text, err);
    if (!rc) /* hundreds of hosts may have one each */
        rc = wp_txn_keys(txn, text, &keys, &key_count, err);
    if (!rc)
        rc = read_parts(txn, keys, key_count, key->shard, &parts, err);
    while (!rc && from < parts.count &&
        !(same_report(&parts.rows[from].key, key) && !strcmp(parts.rows[from].key.aggregate, key->aggregate)))
        from++;
    for (to = from; !rc && to < parts.count && same_report(&parts.rows[to].key, key) &&
         !strcmp(parts.rows[to].key.aggregate, key->aggregate);
         to++)
        length_s = parts.rows[to].length_s > length_s ? parts.rows[to].length_s : length_s;
    if (!rc && to > from)
        rc = wp_txn_sum_parts(
            txn, &(struct wp_report_parts){parts.rows + from, to - from}, key->timebox_s, length_s, &is_done, err);
    wp_report_parts_fini(&parts);
    return rc;
}

int wp_txn_compact(struct wp_txn *txn, const char *shard, struct wp_error *err)
{
    char **aggregates = NULL;
    size_t count = 0;
    int rc = wp_txn_aggregates(txn, &aggregates, &count, err);
    for (size_t i = 0; !rc && i < count; i++)
        rc = compact_aggregate(txn, aggregates[i], shard, err);
    wp_strings_free(aggregates, count);
    if (!rc)
        rc = wp_genealogy_compact(txn, shard, err);
    if (!rc)
        rc = wp_sourcemap_compact(txn, shard, err);
    if (!rc)
        rc = wp_source_compact(txn, shard, err);
    return rc;
}
