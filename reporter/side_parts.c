/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/side_parts.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARTS_LIMIT 200000u

bool wp_hosts_match(const char *pattern, const char *host)
{
    bool is_not = *pattern == '!', matches = false;
    for (const char *at = pattern + is_not; *at && !matches;) {
        char one[256];
        size_t size = strcspn(at, ",");
        if (size < sizeof(one)) {
            memcpy(one, at, size);
            one[size] = 0;
            matches = !strcmp(one, host) || !fnmatch(one, host, 0);
        }
        at += size + (at[size] == ',');
    }
    return matches != is_not;
}

/* --- which timeboxes there are --- */

struct boxes {
    const char *bucket;
    uint64_t *rows;
    size_t count, room;
};

static int compare_boxes(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a < b ? -1 : a > b;
}

/* "<aggregate>/report.<timebox>.<shard>...": of any bucket of the aggregate; a box without this one's reports reads as none. */
static int add_box(void *context, const char *key, size_t size)
{
    struct boxes *boxes = context;
    const char *digits = strstr(key, "/report.");
    (void)size;
    if (!digits)
        return 0;
    uint64_t box = strtoull(digits + strlen("/report."), NULL, 10);
    if (boxes->count && boxes->rows[boxes->count - 1] == box)
        return 0;
    if (boxes->count == boxes->room) {
        size_t room = boxes->room ? boxes->room * 2 : 64;
        uint64_t *grown = room > PARTS_LIMIT * 2 ? NULL : reallocarray(boxes->rows, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        boxes->rows = grown;
        boxes->room = room;
    }
    boxes->rows[boxes->count++] = box;
    return 0;
}

static int list_boxes(struct boxes *boxes, const struct wp_snapshot *snapshot, const char *aggregate, struct wp_error *err)
{
    char prefix[160];
    size_t kept = 0;
    int rc = 0;
    snprintf(prefix, sizeof(prefix), "%.*s/report.", (int)strcspn(aggregate, "~"), aggregate);
    for (size_t i = 0; i < snapshot->stores->count && !rc; i++)
        if (snapshot->txns[i])
            rc = wp_txn_visit(snapshot->txns[i], prefix, add_box, boxes, err);
    if (boxes->count)
        qsort(boxes->rows, boxes->count, sizeof(*boxes->rows), compare_boxes);
    for (size_t i = 0; i < boxes->count; i++)
        if (!kept || boxes->rows[kept - 1] != boxes->rows[i])
            boxes->rows[kept++] = boxes->rows[i];
    boxes->count = kept;
    return rc == -ENOMEM ? wp_error_set(err, rc, "too many timeboxes in release %s", snapshot->release) : rc;
}

/* --- their reports --- */

static int add_part(struct wp_side_parts *parts, uint64_t timebox_s, struct wp_report *report)
{
    if (parts->count == parts->room) {
        size_t room = parts->room ? parts->room * 2 : 64;
        struct wp_side_part *grown = room > PARTS_LIMIT * 2 ? NULL : reallocarray(parts->rows, room, sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        parts->rows = grown;
        parts->room = room;
    }
    parts->rows[parts->count++] = (struct wp_side_part){timebox_s, report};
    return 0;
}

/* How many of the report's hosts are meant; all of them where none was named. */
static uint32_t count_hosts(const struct wp_report *report, const char *pattern, uint32_t *count)
{
    const uint32_t *hosts = wp_report_hosts(report, count);
    uint32_t meant = 0;
    for (uint32_t i = 0; i < *count; i++)
        meant += !*pattern || wp_hosts_match(pattern, wp_report_text(report, hosts[i]));
    return meant;
}

/* Of one store: a shard of the same name in another one is another machine's. */
static int read_part(struct wp_side_parts *parts, struct wp_txn *txn, const char *release, const char *bucket, const char *pattern,
    const struct wp_selection *selection, struct wp_error *err)
{
    struct wp_report *report = NULL;
    struct wp_damage *damage = NULL;
    size_t damaged = 0;
    uint32_t count;
    int rc = wp_txn_read_report(txn, bucket, selection, &report, &damage, &damaged, err);
    wp_damage_free(damage, damaged);
    if (rc)
        return rc == -ENOENT ? 0 : rc;
    uint32_t meant = count_hosts(report, pattern, &count);
    bool is_meant = meant == count && (count || !*pattern);
    if (meant && meant < count)
        rc = wp_error_set(err, -EINVAL, "release %s: shard %s holds %u %s of '%.100s' and %u more in one sum, not to be told apart",
            release, selection->shard, meant, meant == 1 ? "host" : "hosts", pattern, count - meant);
    else if (is_meant && add_part(parts, selection->since_s, report))
        rc = wp_error_set(err, -ENOMEM, "out of memory for a side");
    if (rc || !is_meant)
        wp_report_destroy(report);
    return rc;
}

int wp_side_parts_read(struct wp_side_parts *parts, const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_side_spec *spec, struct wp_error *err)
{
    struct boxes boxes = {0};
    char **shards = NULL;
    size_t count = 0;
    char bucket[129];
    memset(parts, 0, sizeof(*parts));
    int rc = wp_snapshot_shards(snapshot, &shards, &count, err);
    if (!rc)
        rc = wp_snapshot_bucket(snapshot, aggregate, bucket, err);
    if (!rc)
        rc = list_boxes(&boxes, snapshot, aggregate, err);
    for (size_t box = 0; box < boxes.count && !rc; box++) {
        struct wp_selection selection = {.since_s = boxes.rows[box], .until_s = boxes.rows[box] + 1};
        if (selection.since_s < spec->since_s || (spec->until_s && selection.since_s >= spec->until_s))
            continue;
        for (size_t i = 0; i < count * snapshot->stores->count && !rc; i++) {
            struct wp_txn *txn = snapshot->txns[i / count];
            selection.shard = shards[i % count];
            rc = txn ? read_part(parts, txn, snapshot->release, bucket, spec->host, &selection, err) : 0;
        }
    }
    free(boxes.rows);
    wp_strings_free(shards, count);
    if (rc)
        wp_side_parts_fini(parts);
    return rc;
}

static void keep_common(struct wp_side_parts *parts, const bool *is_common)
{
    size_t kept = 0;
    for (size_t i = 0; i < parts->count; i++) {
        if (is_common[i])
            parts->rows[kept++] = parts->rows[i];
        else
            wp_report_destroy(parts->rows[i].report);
    }
    parts->count = kept;
}

static bool has_box(const struct wp_side_parts *parts, uint64_t timebox_s)
{
    size_t low = 0, high = parts->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (parts->rows[middle].timebox_s < timebox_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low < parts->count && parts->rows[low].timebox_s == timebox_s;
}

void wp_side_parts_meet(struct wp_side_parts *a, struct wp_side_parts *b)
{
    bool *in_b = calloc(a->count + b->count + 1, sizeof(*in_b)), *in_a = in_b + a->count;
    for (size_t i = 0; i < a->count && in_b; i++)
        in_b[i] = has_box(b, a->rows[i].timebox_s);
    for (size_t i = 0; i < b->count && in_b; i++)
        in_a[i] = has_box(a, b->rows[i].timebox_s);
    if (!in_b) { /* without memory nothing is in common: the reader says that there is nothing */
        wp_side_parts_fini(a);
        wp_side_parts_fini(b);
        return;
    }
    keep_common(a, in_b);
    keep_common(b, in_a);
    free(in_b);
}

int wp_side_parts_facts(struct wp_facts *facts, struct wp_side_parts *parts, const struct wp_snapshot *snapshot, const char *aggregate,
    const struct wp_side_spec *spec, struct wp_error *err)
{
    struct wp_report *sum = NULL;
    uint64_t recordings = 0;
    int rc = parts->count ? 0
        : spec->same_time ? wp_error_set(err, -ENOENT, "no timebox of aggregate %s of release %s has both sides%s%s", aggregate,
                                snapshot->release, *spec->host ? ", here hosts " : "", spec->host)
                          : wp_error_set(err, -ENOENT, "release %s has nothing of host %s in aggregate %s", snapshot->release,
                                spec->host, aggregate);
    for (size_t i = 0; i < parts->count && !rc; i++) {
        if (sum)
            rc = wp_report_merge(sum, parts->rows[i].report, err);
        else
            sum = parts->rows[i].report;
        if (sum == parts->rows[i].report)
            parts->rows[i].report = NULL;
    }
    if (!rc)
        rc = wp_snapshot_recordings(snapshot, &recordings, err);
    wp_side_parts_fini(parts);
    if (rc) {
        wp_report_destroy(sum);
        return rc;
    }
    rc = wp_facts_build(facts, spec->release, aggregate, sum, NULL, err);
    facts->recordings = recordings; /* of all hosts: at most so many are told apart */
    facts->group = *spec->host ? wp_pool_text(&facts->pool, spec->host) : NULL;
    return rc;
}

void wp_side_parts_fini(struct wp_side_parts *parts)
{
    for (size_t i = 0; i < parts->count; i++)
        wp_report_destroy(parts->rows[i].report);
    free(parts->rows);
    memset(parts, 0, sizeof(*parts));
}
