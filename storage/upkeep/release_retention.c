/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/upkeep/release_retention.h"

#include "common/clock.h"
#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/kind/metadata_store.h"
#include "storage/kind/release_store.h"
#include "storage/kind/state_store.h"
#include "storage/upkeep/rollup.h"
#include "storage/value/bucket.h"
#include "storage/value/keys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DAY_S 86400u
#define NS WP_NS_PER_S

static int find_live(void *context, const char *text, size_t size)
{
    struct wp_txn *txn = context;
    struct wp_resume resume;
    struct wp_key key;
    (void)size;
    if (wp_key_parse(&key, text, NULL))
        return 0;
    return wp_txn_get_resume(txn, key.shard, key.session, &resume, NULL) ||
        !resume.ended; /* one that cannot be read may be */
}

static int find_keep(void *context, const struct wp_metadata_row *row)
{
    (void)context;
    return !strcmp(row->key, "keep") && row->is_winner && strcmp(row->value, "no");
}

int wp_txn_is_kept(struct wp_txn *txn, struct wp_error *err)
{
    struct wp_metadata_scope scope = {NULL, false, 0};
    int rc = wp_txn_all_metadata(txn, &scope, find_keep, NULL, err);
    return rc > 0 || rc == -EBADMSG || rc == -EPROTONOSUPPORT ? 1 : rc; /* what cannot be read may say it */
}

int wp_release_row_read(struct wp_retained_release *row, struct wp_txn *txn, uint64_t now_s, struct wp_error *err)
{
    struct wp_newest newest = {0};
    uint64_t first_ns, last_ns;
    int rc = wp_txn_activity(txn, &first_ns, &last_ns, err);
    if (!rc)
        rc = wp_txn_newest(txn, now_s, &newest, err);
    row->last_s = rc ? 0 : newest.past_report_s;
    if (!rc && last_ns / NS <= now_s && last_ns / NS > row->last_s) /* a clock that was ahead says nothing */
        row->last_s = last_ns / NS;
    if (!rc)
        rc = wp_txn_aggregates(txn, &row->aggregates, &row->aggregate_count, err);
    for (size_t i = 0; !rc && i < row->aggregate_count; i++)
        row->aggregates[i][wp_bucket_base(row->aggregates[i])] = 0;
    if (!rc)
        rc = wp_txn_is_kept(txn, err);
    row->is_named = rc > 0 || rc == -EBADMSG || rc == -EPROTONOSUPPORT;
    rc = row->is_named ? 0 : rc;
    if (rc || row->last_s + DAY_S <= now_s)
        return rc;
    rc = wp_txn_visit(txn, "__state__/processed.", find_live, txn, err);
    row->is_live = rc > 0;
    return rc > 0 ? 0 : rc;
}

void wp_release_rows_free(struct wp_retained_release *rows, size_t count)
{
    for (size_t i = 0; rows && i < count; i++)
        wp_strings_free(rows[i].aggregates, rows[i].aggregate_count);
    free(rows);
}

static bool is_newer(const struct wp_retained_release *a, const struct wp_retained_release *b)
{
    return a->last_s != b->last_s ? a->last_s > b->last_s : strcmp(a->name, b->name) > 0;
}

static bool has_aggregate(const struct wp_retained_release *row, const char *aggregate)
{
    for (size_t i = 0; i < row->aggregate_count; i++)
        if (!strcmp(row->aggregates[i], aggregate))
            return true;
    return false;
}

static bool is_newest_of_some(
    const struct wp_retained_release *rows, size_t count, const struct wp_retained_release *row)
{
    for (size_t i = 0; i < row->aggregate_count; i++) {
        bool is_newest = true;
        for (size_t j = 0; is_newest && j < count; j++)
            is_newest = !is_newer(&rows[j], row) || !has_aggregate(&rows[j], row->aggregates[i]);
        if (is_newest)
            return true;
    }
    return false;
}

static bool may_go(const struct wp_retained_release *rows, size_t count, const struct wp_retained_release *row)
{
    return row->name && !row->why && row->last_s && !row->is_named && !row->is_live &&
        !is_newest_of_some(rows, count, row);
}

static size_t count_newer(const struct wp_retained_release *rows, size_t count, const struct wp_retained_release *row)
{
    size_t newer = 0;
    for (size_t i = 0; i < count; i++)
        newer += rows[i].name && is_newer(&rows[i], row);
    return newer;
}

void wp_releases_choose(struct wp_retained_release *rows, size_t count, size_t most, uint64_t age_s, uint64_t now_s)
{
    for (size_t i = 0; i < count; i++) {
        struct wp_retained_release *row = &rows[i];
        if (!may_go(rows, count, row))
            continue;
        if (age_s != UINT64_MAX && now_s > age_s && row->last_s <= now_s - age_s)
            row->why = "old release";
        else if (count_newer(rows, count, row) >= most)
            row->why = "more releases than are kept";
    }
}

struct wp_retained_release *wp_releases_oldest(struct wp_retained_release *rows, size_t count)
{
    struct wp_retained_release *oldest = NULL;
    for (size_t i = 0; i < count; i++)
        if (may_go(rows, count, &rows[i]) && (!oldest || is_newer(oldest, &rows[i])))
            oldest = &rows[i];
    return oldest;
}
