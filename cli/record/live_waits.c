/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/live_waits.h"

#include "reporter/load/facts_read.h"
#include "reporter/waits/top_waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_same(const struct wp_live_wait *a, const struct wp_live_wait *b)
{
    return !strcmp(a->whom, b->whom) && !strcmp(a->doing, b->doing) && !strcmp(a->where, b->where) &&
        !strcmp(a->who, b->who);
}

static uint64_t before(const struct wp_live_reading *last, const struct wp_live_wait *row)
{
    for (size_t i = 0; i < last->count; i++)
        if (is_same(&last->rows[i], row))
            return last->rows[i].ns;
    return 0;
}

static int compare_rows(const void *left, const void *right)
{
    const struct wp_live_wait *a = left, *b = right;
    if (a->since_ns != b->since_ns)
        return a->since_ns > b->since_ns ? -1 : 1;
    return a->ns != b->ns ? (a->ns > b->ns ? -1 : 1) : strcmp(a->whom, b->whom);
}

/* Rows as far as they matter: what is left out is small, and counts as new if it grows. */
#define ROWS 1000u

static void copy_rows(struct wp_live_waits *live, const struct wp_facts *facts, const struct wp_top_waits *waits)
{
    struct wp_live_reading *now = &live->now;
    size_t count = waits->count < ROWS ? waits->count : ROWS;
    now->rows = wp_pool_alloc(&now->pool, (count + 1) * sizeof(*now->rows));
    now->total_ns = facts->total_ns;
    now->events = facts->events_total;
    now->lost_events = facts->events_dropped;
    now->accounted_percent = facts->accounted_percent;
    for (size_t i = 0; now->rows && i < count; i++) {
        const struct wp_top_wait *wait = &waits->rows[i];
        struct wp_live_wait *row = &now->rows[now->count++];
        *row = (struct wp_live_wait){.who = wp_pool_text(&now->pool, wait->who),
            .whom = wp_pool_text(&now->pool, wait->whom),
            .doing = wait->doing,
            .where = wp_pool_text(&now->pool, wait->where),
            .ns = wait->ns};
        uint64_t earlier = before(&live->last, row);
        row->since_ns = row->ns > earlier ? row->ns - earlier : 0;
        now->since_ns += row->since_ns;
    }
    if (now->rows && !now->pool.failed)
        qsort(now->rows, now->count, sizeof(*now->rows), compare_rows);
}

static int read_rows(struct wp_live_waits *live, const struct wp_facts *facts, struct wp_error *err)
{
    struct wp_pool pool = {0};
    struct wp_top_waits waits;
    int rc = wp_top_waits_build(&waits, &pool, facts, err);
    if (!rc)
        copy_rows(live, facts, &waits);
    if (!rc && live->now.pool.failed)
        rc = wp_error_set(err, -ENOMEM, "out of memory for what is waited for");
    wp_pool_fini(&pool);
    return rc;
}

static int read_store(struct wp_live_waits *live, const struct wp_stores *stores, struct wp_error *err)
{
    struct wp_snapshot snapshot;
    struct wp_facts facts = {0};
    char bucket[WP_ID_ROOM];
    int rc = wp_snapshot_begin(&snapshot, stores, live->release, err);
    if (rc)
        return rc;
    rc = wp_snapshot_bucket(&snapshot, live->aggregate, bucket, err);
    if (!rc)
        rc = wp_facts_read(&facts, &snapshot, live->aggregate, &(struct wp_selection){0}, err);
    if (!rc)
        rc = read_rows(live, &facts, err);
    wp_facts_fini(&facts);
    wp_snapshot_end(&snapshot);
    return rc;
}

int wp_live_waits_read(struct wp_live_waits *live, struct wp_error *err)
{
    struct wp_stores stores;
    struct wp_error own = {0};
    wp_pool_fini(&live->last.pool);
    live->last = live->now;
    live->now = (struct wp_live_reading){0};
    int rc = wp_stores_open(&stores, &live->store, 1, &own);
    if (!rc) {
        rc = read_store(live, &stores, &own);
        wp_stores_close(&stores);
    }
    if (rc) { /* the next reading is told against the last one that was whole */
        wp_pool_fini(&live->now.pool);
        live->now = live->last;
        live->last = (struct wp_live_reading){0};
        live->now.since_ns = 0;
        for (size_t i = 0; i < live->now.count; i++)
            live->now.rows[i].since_ns = 0;
    }
    if (rc == -ENOENT) /* nothing is stored yet */
        return 0;
    if (rc && err)
        *err = own;
    return rc;
}

void wp_live_waits_fini(struct wp_live_waits *live)
{
    wp_pool_fini(&live->now.pool);
    wp_pool_fini(&live->last.pool);
    *live = (struct wp_live_waits){0};
}
