/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/read/release_order.h"

#include "common/history.h"
#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/kind/release_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GIT_MS 240000u /* of all releases together */

size_t wp_release_order_find(const struct wp_release_order *order, const char *id)
{
    for (size_t i = 0; i < order->count; i++)
        if (!strcmp(order->rows[i].id, id))
            return i;
    return SIZE_MAX;
}

static int read_time(const struct wp_stores *stores, struct wp_release_row *row, struct wp_error *err)
{
    for (size_t i = 0; i < stores->count; i++) {
        struct wp_txn *txn = NULL;
        uint64_t first_ns = 0, last_ns = 0;
        int rc = wp_txn_begin(&txn, stores->stores[i], row->id, false, err);
        if (rc == -ENOENT || rc == -EBADMSG) /* not in this store; or damaged, which is said where it is shown */
            continue;
        if (!rc)
            rc = wp_txn_activity(txn, &first_ns, &last_ns, err);
        wp_txn_abort(txn);
        if (rc)
            return rc;
        row->last_ns = last_ns > row->last_ns ? last_ns : row->last_ns;
        row->first_ns = first_ns && (!row->first_ns || first_ns < row->first_ns) ? first_ns : row->first_ns;
    }
    return 0;
}

static int compare_rows(const void *left, const void *right)
{
    const struct wp_release_row *a = left, *b = right;
    if (a->place != b->place)
        return a->place < b->place ? -1 : 1;
    if (a->last_ns != b->last_ns)
        return a->last_ns > b->last_ns ? -1 : 1;
    return strcmp(a->id, b->id);
}

/* The newest clean release that was measured before it. */
static size_t before_in_time(const struct wp_release_order *order, size_t release)
{
    const struct wp_release_row *row = &order->rows[release];
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < order->count; i++) {
        const struct wp_release_row *other = &order->rows[i];
        if (i == release || other->is_dirty || !other->last_ns || other->last_ns > row->last_ns ||
            (other->last_ns == row->last_ns && i < release))
            continue;
        if (best == SIZE_MAX || other->last_ns > order->rows[best].last_ns)
            best = i;
    }
    return best;
}

/* Rows stand by name still, as the history knows them; baselines are such rows. */
static void choose_baselines(struct wp_release_order *order, const struct wp_history *history,
    const struct wp_order_options *options, size_t fixed)
{
    for (size_t i = 0; i < order->count; i++) {
        struct wp_release_row *row = &order->rows[i];
        if (fixed != SIZE_MAX)
            row->baseline = i == fixed ? SIZE_MAX : fixed;
        else if (history && options->against)
            row->baseline = wp_history_against(history, i);
        else if (history && row->place != UINT32_MAX)
            row->baseline = wp_history_baseline(history, i);
        else
            row->baseline = before_in_time(order, i);
    }
}

static int sort(struct wp_release_order *order, struct wp_error *err)
{
    const char **baselines = calloc(order->count + 1, sizeof(*baselines));
    if (!baselines)
        return wp_error_set(err, -ENOMEM, "out of memory for the list of releases");
    for (size_t i = 0; i < order->count; i++)
        baselines[i] = order->rows[i].baseline == SIZE_MAX ? NULL : order->rows[order->rows[i].baseline].id;
    for (size_t i = 0; i < order->count; i++)
        order->rows[i].baseline = i; /* who it was, while sorting */
    qsort(order->rows, order->count, sizeof(*order->rows), compare_rows);
    for (size_t i = 0; i < order->count; i++) {
        const char *baseline = baselines[order->rows[i].baseline];
        order->rows[i].baseline = baseline ? wp_release_order_find(order, baseline) : SIZE_MAX;
    }
    free(baselines);
    return 0;
}

/* One whose newest activity an earlier run found, and that has not changed since, holds something. */
static bool is_known(void *context, const char *release)
{
    const struct wp_order_options *options = context;
    uint64_t first_ns, last_ns;
    return options->known_time && options->known_time(options->known_context, release, &first_ns, &last_ns);
}

static int add_commits(struct wp_release_order *order, const char *git, struct wp_error *err)
{
    order->commits = calloc(order->count + 1, sizeof(*order->commits));
    if (!order->commits)
        return wp_error_set(err, -ENOMEM, "out of memory for the commits");
    int rc = wp_commits_read(order->commits, git, (const char *const *)order->names, order->count, GIT_MS, err);
    for (size_t i = 0; i < order->count && !rc; i++)
        order->rows[i].commit = *order->commits[i].id ? &order->commits[i] : NULL;
    return rc;
}

static int fill(struct wp_release_order *order, const struct wp_stores *stores, const struct wp_order_options *options,
    struct wp_error *err)
{
    struct wp_history *history = NULL;
    int rc = 0;
    for (size_t i = 0; i < order->count && !rc; i++) {
        order->rows[i] = (struct wp_release_row){.id = order->names[i],
            .place = UINT32_MAX,
            .baseline = SIZE_MAX,
            .is_dirty = wp_release_is_dirty(order->names[i])};
        if (!options->known_time ||
            !options->known_time(
                options->known_context, order->names[i], &order->rows[i].first_ns, &order->rows[i].last_ns))
            rc = read_time(stores, &order->rows[i], err);
    }
    size_t fixed = options->against && !rc ? wp_release_order_find(order, options->against) : SIZE_MAX;
    if (!rc && options->against && fixed == SIZE_MAX && !options->git)
        rc = wp_error_set(err, -ENOENT, "no release %s to compare against; a commit needs --git DIR", options->against);
    if (!rc && options->git)
        rc = wp_history_read(&history,
            &(struct wp_history_question){
                options->git, order->names, order->count, fixed == SIZE_MAX ? options->against : NULL},
            err);
    for (size_t i = 0; i < order->count && history && !rc; i++)
        order->rows[i].place = wp_history_position(history, i);
    if (!rc && options->git)
        rc = add_commits(order, options->git, err);
    if (!rc)
        choose_baselines(order, history, options, fixed);
    wp_history_destroy(history);
    return rc ? rc : order->count ? sort(order, err) : 0;
}

int wp_release_order_read(struct wp_release_order *order, const struct wp_stores *stores,
    const struct wp_order_options *options, struct wp_error *err)
{
    memset(order, 0, sizeof(*order));
    int rc = wp_stores_releases(stores, is_known, (void *)(uintptr_t)options, &order->names, &order->count, err);
    if (rc)
        return rc;
    order->rows = calloc(order->count + 1, sizeof(*order->rows));
    rc = order->rows ? fill(order, stores, options, err)
                     : wp_error_set(err, -ENOMEM, "out of memory for the list of releases");
    if (rc)
        wp_release_order_fini(order);
    return rc;
}

void wp_release_order_fini(struct wp_release_order *order)
{
    wp_strings_free(order->names, order->count);
    free(order->rows);
    free(order->commits);
    memset(order, 0, sizeof(*order));
}
