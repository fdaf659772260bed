/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/read/stores.h"

#include "common/array.h"
#include "common/nearest.h"
#include "common/path.h"
#include "common/strings.h"
#include "storage/env/txn.h"
#include "storage/kind/exemplars_store.h"
#include "storage/kind/release_store.h"
#include "storage/kind/report_shares.h"
#include "storage/kind/report_store.h"
#include "storage/kind/state_store.h"
#include "storage/report/report.h"
#include "storage/report/report_decode.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_merge.h"
#include "storage/report/trace.h"
#include "storage/value/bucket.h"
#include "storage/value/host_part.h"
#include "storage/value/keys.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SESSIONS "__state__/processed."

struct names {
    char **rows;
    size_t count;
};

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* Takes the rows of `more` and frees the array. */
static int take_names(struct names *names, char **more, size_t count)
{
    int rc = 0;
    for (size_t i = 0; i < count; i++) {
        rc = rc ? rc : WP_ARRAY_NEXT(names->rows, names->count);
        if (rc)
            free(more[i]);
        else
            names->rows[names->count++] = more[i];
    }
    free(more);
    return rc;
}

static void sort_once(struct names *names)
{
    size_t kept = 0;
    if (names->count)
        qsort(names->rows, names->count, sizeof(*names->rows), compare_texts);
    for (size_t i = 0; i < names->count; i++) {
        if (kept && !strcmp(names->rows[kept - 1], names->rows[i]))
            free(names->rows[i]);
        else
            names->rows[kept++] = names->rows[i];
    }
    names->count = kept;
}

static int hand_over(struct names *names, int rc, char ***rows, size_t *count, struct wp_error *err)
{
    if (rc) {
        wp_strings_free(names->rows, names->count);
        *rows = NULL;
        *count = 0;
        return rc == -ENOMEM ? wp_error_set(err, rc, "out of memory for a list of names") : rc;
    }
    sort_once(names);
    *rows = names->rows;
    *count = names->count;
    return 0;
}

int wp_stores_open(struct wp_stores *stores, const char *const *roots, size_t count, struct wp_error *err)
{
    char real[PATH_MAX], before[PATH_MAX];
    int rc = count > WP_STORES_LIMIT ? wp_error_set(err, -EINVAL, "%zu stores, at most %u", count, WP_STORES_LIMIT) : 0;
    memset(stores, 0, sizeof(*stores));
    for (size_t i = 0; i < count && !rc; i++) {
        for (size_t j = 0; j < i && !rc; j++)
            if (realpath(roots[i], real) && realpath(roots[j], before) && !strcmp(real, before))
                rc = wp_error_set(err, -EINVAL, "store %s is given twice", roots[i]);
        if (!rc)
            rc = wp_store_open(&stores->stores[i], roots[i], false, err);
        if (!rc)
            stores->count++;
    }
    if (rc)
        wp_stores_close(stores);
    return rc;
}

void wp_stores_close(struct wp_stores *stores)
{
    for (size_t i = 0; i < stores->count; i++)
        wp_store_close(stores->stores[i]);
    memset(stores, 0, sizeof(*stores));
}

int wp_stores_releases(const struct wp_stores *stores, bool (*is_known)(void *context, const char *release),
    void *context, char ***releases, size_t *count, struct wp_error *err)
{
    struct names names = {0};
    int rc = 0;
    for (size_t i = 0; i < stores->count && !rc; i++) {
        char **rows = NULL;
        size_t row_count = 0;
        rc = wp_store_releases_known(stores->stores[i], is_known, context, &rows, &row_count, err);
        if (!rc)
            rc = take_names(&names, rows, row_count);
    }
    return hand_over(&names, rc, releases, count, err);
}

static int add_damage(struct wp_damage **damage, size_t *count, struct wp_damage *more, size_t more_count)
{
    int rc = 0;
    for (size_t i = 0; !rc && i < more_count; i++) {
        rc = WP_ARRAY_NEXT(*damage, *count);
        if (!rc) {
            (*damage)[(*count)++] = more[i];
            more[i] = (struct wp_damage){0};
        }
    }
    wp_damage_free(more, more_count);
    return rc;
}

/* A store's share that cannot be opened: said like any damaged value, when there is another share to show. */
static int note_store(struct wp_snapshot *snapshot, const char *root, const char *reason)
{
    struct wp_damage *row = calloc(1, sizeof(*row));
    if (!row)
        return -ENOMEM;
    *row = (struct wp_damage){strdup(root), strdup(reason)};
    if (row->key && row->reason)
        return add_damage(&snapshot->damage, &snapshot->damage_count, row, 1);
    wp_damage_free(row, 1);
    return -ENOMEM;
}

static int add_key(void *context, const char *key, size_t size)
{
    struct names *names = context;
    (void)size;
    return wp_strings_add(&names->rows, &names->count, key + strlen(SESSIONS));
}

/* "<session>.<shard>" of all stores, sorted; *twice: one that stands in two of them. */
static int list_sessions(const struct wp_snapshot *snapshot, struct names *names, struct wp_error *err)
{
    int rc = 0;
    for (size_t i = 0; i < snapshot->stores->count && !rc; i++)
        if (snapshot->txns[i])
            rc = wp_txn_visit(snapshot->txns[i], SESSIONS, add_key, names, err);
    if (!rc && names->count)
        qsort(names->rows, names->count, sizeof(*names->rows), compare_texts);
    return rc;
}

static int check_copies(const struct wp_snapshot *snapshot, struct wp_error *err)
{
    struct names names = {0};
    int rc = list_sessions(snapshot, &names, err);
    for (size_t i = 1; i < names.count && !rc; i++)
        if (!strcmp(names.rows[i - 1], names.rows[i]))
            rc =
                wp_error_set(err, -EEXIST, "release %s: session %s is in two of the stores, one is a copy of the other",
                    snapshot->release, names.rows[i]);
    wp_strings_free(names.rows, names.count);
    return rc;
}

static int refuse_release(const struct wp_stores *stores, const char *release, struct wp_error *err)
{
    char **releases = NULL;
    size_t count = 0;
    const char *meant = wp_stores_releases(stores, NULL, NULL, &releases, &count, NULL)
        ? NULL
        : wp_nearest(release, (const char *const *)releases, count);
    wp_error_set(err, -ENOENT, "no release %s in store %s%s%s%s%s", release,
        stores->count ? wp_store_root(stores->stores[0]) : "", stores->count > 1 ? " or the others" : "",
        meant ? ": did you mean " : "", meant ? meant : "", meant ? "?" : "");
    wp_strings_free(releases, count);
    return -ENOENT;
}

int wp_snapshot_begin(
    struct wp_snapshot *snapshot, const struct wp_stores *stores, const char *release, struct wp_error *err)
{
    size_t begun = 0;
    int rc = 0, damaged = 0;
    *snapshot = (struct wp_snapshot){.stores = stores, .release = release};
    for (size_t i = 0; i < stores->count && !rc; i++) {
        struct wp_error reason = {0};
        rc = wp_txn_begin(&snapshot->txns[i], stores->stores[i], release, false, &reason);
        if (!rc) {
            begun++;
            continue;
        }
        snapshot->txns[i] = NULL;
        if (err && rc != -ENOENT)
            *err = reason;
        if (rc == -EBADMSG) {
            damaged = rc;
            rc = note_store(snapshot, wp_store_root(stores->stores[i]), reason.text);
        } else if (rc == -ENOENT) {
            rc = 0;
        }
    }
    if (!rc && !begun)
        rc = damaged ? damaged : refuse_release(stores, release, err);
    if (!rc && begun > 1)
        rc = check_copies(snapshot, err);
    if (rc)
        wp_snapshot_end(snapshot);
    return rc;
}

void wp_snapshot_end(struct wp_snapshot *snapshot)
{
    for (size_t i = 0; i < WP_STORES_LIMIT; i++)
        wp_txn_abort(snapshot->txns[i]);
    wp_damage_free(snapshot->damage, snapshot->damage_count);
    memset(snapshot, 0, sizeof(*snapshot));
}

static int gather(const struct wp_snapshot *snapshot,
    int (*list)(struct wp_txn *, char ***, size_t *, struct wp_error *), char ***rows, size_t *count,
    struct wp_error *err)
{
    struct names names = {0};
    int rc = 0;
    for (size_t i = 0; i < snapshot->stores->count && !rc; i++) {
        char **some = NULL;
        size_t some_count = 0;
        if (!snapshot->txns[i])
            continue;
        rc = list(snapshot->txns[i], &some, &some_count, err);
        if (!rc)
            rc = take_names(&names, some, some_count);
    }
    return hand_over(&names, rc, rows, count, err);
}

int wp_snapshot_buckets(const struct wp_snapshot *snapshot, char ***buckets, size_t *count, struct wp_error *err)
{
    return gather(snapshot, wp_txn_aggregates, buckets, count, err);
}

int wp_snapshot_aggregates(const struct wp_snapshot *snapshot, char ***aggregates, size_t *count, struct wp_error *err)
{
    int rc = wp_snapshot_buckets(snapshot, aggregates, count, err);
    bool *are_alone = rc ? NULL : calloc(*count + 1, sizeof(*are_alone));
    for (size_t i = 0; are_alone && i < *count; i++)
        are_alone[i] = wp_bucket_is_alone(*aggregates, *count, (*aggregates)[i]);
    for (size_t i = 0; are_alone && i < *count; i++)
        if (are_alone[i])
            (*aggregates)[i][wp_bucket_base((*aggregates)[i])] = 0;
    if (are_alone && *count)
        qsort(*aggregates, *count, sizeof(**aggregates), compare_texts);
    if (!rc && !are_alone) {
        wp_strings_free(*aggregates, *count);
        *aggregates = NULL;
        *count = 0;
        rc = wp_error_set(err, -ENOMEM, "out of memory for a list of names");
    }
    free(are_alone);
    return rc;
}

int wp_snapshot_bucket(
    const struct wp_snapshot *snapshot, const char *asked, char bucket[WP_ID_ROOM], struct wp_error *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = wp_snapshot_buckets(snapshot, &names, &count, err);
    if (!rc && (rc = wp_bucket_choose(names, count, asked, bucket, err)) == -ENOENT)
        wp_error_wrap(err, rc, "release %s", snapshot->release);
    wp_strings_free(names, count);
    return rc;
}

static int is_alone(const struct wp_snapshot *snapshot, const char *bucket, bool *alone, struct wp_error *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = wp_snapshot_buckets(snapshot, &names, &count, err);
    *alone = !rc && wp_bucket_is_alone(names, count, bucket);
    wp_strings_free(names, count);
    return rc;
}

int wp_snapshot_counterpart(const struct wp_snapshot *older, const struct wp_snapshot *newer, const char *asked,
    char name[WP_ID_ROOM], struct wp_error *err)
{
    char bucket[WP_ID_ROOM];
    bool alone = false;
    int rc = wp_snapshot_bucket(newer, asked, bucket, err);
    if (!rc && wp_snapshot_bucket(older, bucket, name, NULL)) {
        rc = is_alone(newer, bucket, &alone, err);
        if (!rc && !alone)
            rc = wp_error_set(err, -ENOENT, "release %s has no '%s', and release %s has several of that name",
                older->release, bucket, newer->release);
        bucket[wp_bucket_base(bucket)] = 0;
        rc = rc ? rc : wp_snapshot_bucket(older, bucket, name, err);
    }
    if (!rc)
        rc = is_alone(older, name, &alone, err);
    if (!rc && alone)
        name[wp_bucket_base(name)] = 0;
    return rc;
}

int wp_snapshot_shards(const struct wp_snapshot *snapshot, char ***shards, size_t *count, struct wp_error *err)
{
    return gather(snapshot, wp_txn_shards, shards, count, err);
}

void wp_snapshot_sum_fini(struct wp_snapshot_sum *sum)
{
    wp_report_destroy(sum->report);
    wp_damage_free(sum->damage, sum->damage_count);
    *sum = (struct wp_snapshot_sum){0};
}

int wp_snapshot_report(const struct wp_snapshot *snapshot, const char *aggregate, const struct wp_selection *selection,
    struct wp_snapshot_sum *sum, struct wp_error *err)
{
    size_t merged = 0;
    char bucket[WP_ID_ROOM];
    *sum = (struct wp_snapshot_sum){0};
    int rc = wp_snapshot_bucket(snapshot, aggregate, bucket, err), missing = 0;
    for (size_t i = 0; i < snapshot->stores->count && !rc; i++) {
        struct wp_report_reading one = {0};
        if (!snapshot->txns[i])
            continue;
        rc = wp_txn_read_report(snapshot->txns[i], bucket, selection, &one, err);
        if (rc == -ENOENT) {
            missing = rc;
            rc = 0;
            continue;
        }
        if (!rc && add_damage(&sum->damage, &sum->damage_count, one.damage, one.damage_count))
            rc = wp_error_set(err, -ENOMEM, "out of memory for the damage list");
        if (!rc && sum->report)
            rc = wp_report_merge(sum->report, one.report, err);
        if (sum->report || rc)
            wp_report_destroy(one.report);
        else
            sum->report = one.report;
        merged++;
    }
    if (!rc && !sum->report)
        rc = missing; /* err has the last store's reason */
    if (!rc && merged > 1)
        rc = wp_report_make_canonical(&sum->report, err);
    if (rc)
        wp_snapshot_sum_fini(sum);
    return rc;
}

int wp_snapshot_shares(const struct wp_snapshot *snapshot, const char *aggregate, const struct wp_selection *selection,
    int (*each)(void *context, const struct wp_share *share, struct wp_error *err), void *context, struct wp_error *err)
{
    char bucket[WP_ID_ROOM];
    int rc = wp_snapshot_bucket(snapshot, aggregate, bucket, err);
    for (size_t i = 0; i < snapshot->stores->count && !rc; i++)
        if (snapshot->txns[i] && (rc = wp_txn_read_shares(snapshot->txns[i], bucket, selection, each, context, err)))
            rc = rc == -ENOENT ? 0 : wp_error_wrap(err, rc, "release %s", snapshot->release);
    return rc;
}

int wp_snapshot_trace(const struct wp_snapshot *snapshot, const char *aggregate, const struct wp_selection *selection,
    struct wp_trace **trace, struct wp_error *err)
{
    char bucket[WP_ID_ROOM];
    *trace = NULL;
    int rc = wp_snapshot_bucket(snapshot, aggregate, bucket, err);
    bool is_there = !rc;
    rc = rc ? rc : -ENOENT;
    for (size_t i = 0; is_there && i < snapshot->stores->count; i++) {
        struct wp_trace *one = NULL;
        if (!snapshot->txns[i])
            continue;
        int one_rc = wp_txn_read_trace(snapshot->txns[i], bucket, selection, &one, err);
        if (!one_rc && (!*trace || one->start_ns > (*trace)->start_ns)) {
            wp_trace_destroy(*trace);
            *trace = one;
        } else if (!one_rc) {
            wp_trace_destroy(one);
        }
        rc = *trace ? 0 : one_rc != -ENOENT ? one_rc : rc;
    }
    return rc;
}

int wp_snapshot_traces(const struct wp_snapshot *snapshot, const char *aggregate, const struct wp_selection *selection,
    const struct wp_trace_visit *visit, struct wp_error *err)
{
    char bucket[WP_ID_ROOM];
    int rc = wp_snapshot_bucket(snapshot, aggregate, bucket, err);
    bool is_there = !rc;
    for (size_t i = 0; is_there && i < snapshot->stores->count && (!rc || rc == -ENOENT); i++) {
        *visit->of_store = 0;
        rc = snapshot->txns[i]
            ? wp_txn_read_traces(snapshot->txns[i], bucket, selection, visit->each, visit->context, err)
            : 0;
    }
    return rc == -ENOENT ? 0 : rc;
}

int wp_snapshot_exemplars(const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_selection *selection, struct wp_exemplars *set, struct wp_error *err)
{
    char bucket[WP_ID_ROOM];
    int rc = wp_snapshot_bucket(snapshot, aggregate, bucket, err);
    bool is_there = !rc;
    rc = rc == -ENOENT ? 0 : rc;
    for (size_t i = 0; is_there && i < snapshot->stores->count && (!rc || rc == -EBADMSG); i++) {
        int one_rc = snapshot->txns[i] ? wp_txn_read_exemplars(snapshot->txns[i], bucket, selection, set, err) : 0;
        rc = one_rc && one_rc != -ENOENT ? one_rc : rc;
    }
    return rc;
}

/* "<session>.<shard>": a session's id has no dot, a shard may have one. */
static size_t session_size(const char *name)
{
    return strcspn(name, ".");
}

/* Whose session it is, as the first store says that has it; "" where that cannot be read. */
static void host_of_session(const struct wp_snapshot *snapshot, const char *name, char hostname[256])
{
    char text[WP_KEY_ROOM];
    struct wp_key key;
    *hostname = 0;
    snprintf(text, sizeof(text), SESSIONS "%s", name);
    if (wp_key_parse(&key, text, NULL))
        return;
    for (size_t i = 0; i < snapshot->stores->count; i++) {
        struct wp_resume resume;
        if (snapshot->txns[i] && !wp_txn_get_resume(snapshot->txns[i], key.shard, key.session, &resume, NULL)) {
            snprintf(hostname, 256, "%s", resume.hostname);
            return;
        }
    }
}

/* How often the name occurs that occurs most often; they are sorted. */
static uint64_t longest_run(char **names, size_t count)
{
    uint64_t run = 0, longest = 0;
    for (size_t i = 0; i < count; i++) {
        run = i && !strcmp(names[i - 1], names[i]) ? run + 1 : 1;
        longest = run > longest ? run : longest;
    }
    return longest;
}

int wp_snapshot_recordings(
    const struct wp_snapshot *snapshot, const char *hosts, struct wp_recordings *recordings, struct wp_error *err)
{
    struct names names = {0}, of = {0};
    int rc = list_sessions(snapshot, &names, err);
    *recordings = (struct wp_recordings){0};
    for (size_t i = 0; i < names.count && !rc; i++) {
        char hostname[256];
        size_t size = session_size(names.rows[i]);
        if (i && session_size(names.rows[i - 1]) == size && !strncmp(names.rows[i], names.rows[i - 1], size))
            continue;
        host_of_session(snapshot, names.rows[i], hostname);
        if (!hosts || (*hostname && wp_hosts_match(hosts, hostname)))
            rc = wp_strings_add(&of.rows, &of.count, hostname);
    }
    if (!rc && of.count)
        qsort(of.rows, of.count, sizeof(*of.rows), compare_texts);
    recordings->sessions = rc ? 0 : of.count;
    recordings->at_least = rc ? 0 : longest_run(of.rows, of.count);
    wp_strings_free(names.rows, names.count);
    wp_strings_free(of.rows, of.count);
    return rc;
}
