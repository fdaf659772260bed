/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/origins.h"

#include "reporter/facts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 120u
#define NAMED_HOSTS 4u

struct reading {
    struct wp_facts *facts;
    size_t room;
};

static int compare_texts(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int by_time(const void *left, const void *right)
{
    const struct wp_origin *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

/* "web-1, web-2 and 3 more". */
static const char *name_hosts(struct wp_pool *pool, const struct wp_report *report)
{
    uint32_t count;
    const uint32_t *hosts = wp_report_hosts(report, &count);
    const char **names = wp_pool_alloc(pool, (count + 1u) * sizeof(*names)), *text = "";
    for (uint32_t i = 0; names && i < count; i++)
        names[i] = wp_report_text(report, hosts[i]);
    if (names && count)
        qsort(names, count, sizeof(*names), compare_texts);
    for (uint32_t i = 0; names && i < count && i < NAMED_HOSTS; i++)
        text = wp_pool_printf(pool, "%s%s%s", text, i ? ", " : "", wp_pool_clip(pool, names[i], NAME_BYTES));
    return count > NAMED_HOSTS ? wp_pool_printf(pool, "%s and %u more", text, count - NAMED_HOSTS) : text;
}

static void describe(struct wp_pool *pool, struct wp_origin *origin, const struct wp_report *report, const char *shard)
{
    uint32_t count;
    const uint32_t *hosts = wp_report_hosts(report, &count);
    origin->host_count = count;
    origin->total_ns = wp_report_total(report);
    origin->hosts = "";
    if (count == 1) {
        origin->name = wp_pool_clip(pool, wp_report_text(report, hosts[0]), NAME_BYTES);
        return;
    }
    origin->name = shard ? wp_pool_printf(pool, "shard %s", shard) : "all hosts";
    origin->hosts = name_hosts(pool, report);
}

/* Takes the report: into the origin of the same host, or as a new one. */
static int take(struct reading *reading, struct wp_report *report, const char *shard, struct wp_error *err)
{
    struct wp_origins *origins = &reading->facts->origins;
    struct wp_origin made = {.report = report};
    describe(&reading->facts->pool, &made, report, shard);
    for (size_t i = 0; i < origins->count && made.host_count == 1; i++)
        if (origins->rows[i].host_count == 1 && !strcmp(origins->rows[i].name, made.name)) {
            int rc = wp_report_merge(origins->rows[i].report, report, err);
            origins->rows[i].total_ns = wp_report_total(origins->rows[i].report);
            wp_report_destroy(report);
            return rc;
        }
    if (origins->count >= reading->room) {
        wp_report_destroy(report);
        return wp_error_set(err, -ENOMEM, "out of memory for the shards");
    }
    origins->rows[origins->count++] = made;
    return 0;
}

static int read_shards(struct reading *reading, const struct wp_snapshot *snapshot, const struct wp_selection *selection,
    char *const *shards, size_t count, struct wp_error *err)
{
    struct wp_selection one = *selection;
    int rc = 0;
    for (size_t i = 0; i < count && !rc; i++) {
        struct wp_report *report = NULL;
        struct wp_damage *damage = NULL; /* said already */
        size_t damaged = 0;
        one.shard = shards[i];
        rc = wp_snapshot_report(snapshot, reading->facts->aggregate, &one, &report, &damage, &damaged, err);
        wp_damage_free(damage, damaged);
        if (!rc)
            rc = wp_report_total(report) ? take(reading, report, shards[i], err) : (wp_report_destroy(report), 0);
        else if (rc == -ENOENT)
            rc = 0;
    }
    return rc;
}

/* Those beyond the limit become one. */
static int join_rest(struct wp_facts *facts, struct wp_error *err)
{
    struct wp_origins *origins = &facts->origins;
    int rc = 0;
    if (origins->count <= WP_ORIGINS)
        return 0;
    struct wp_origin *rest = &origins->rows[WP_ORIGINS];
    for (size_t i = WP_ORIGINS + 1; i < origins->count; i++) {
        rc = rc ? rc : wp_report_merge(rest->report, origins->rows[i].report, err);
        wp_report_destroy(origins->rows[i].report);
    }
    rest->name = wp_pool_printf(&facts->pool, "%zu others", origins->count - WP_ORIGINS);
    rest->hosts = name_hosts(&facts->pool, rest->report);
    rest->total_ns = wp_report_total(rest->report);
    rest->host_count = SIZE_MAX;
    origins->count = WP_ORIGINS + 1;
    return rc;
}

static void take_whole(struct wp_facts *facts)
{
    describe(&facts->pool, &facts->origins.rows[0], facts->report, NULL);
    facts->origins.count = 1;
}

int wp_origins_read(struct wp_facts *facts, const struct wp_snapshot *snapshot, const struct wp_selection *selection,
    struct wp_error *err)
{
    static const struct wp_selection everything;
    struct reading reading = {.facts = facts};
    struct wp_origins *origins = &facts->origins;
    char **shards = NULL;
    size_t count = 0;
    if (!selection)
        selection = &everything;
    int rc = facts->host_count > 1 && !selection->shard ? wp_snapshot_shards(snapshot, &shards, &count, err) : 0;
    reading.room = count + 1;
    origins->rows = wp_pool_alloc(&facts->pool, (reading.room + 1) * sizeof(*origins->rows));
    if (!rc && !origins->rows)
        rc = wp_error_set(err, -ENOMEM, "out of memory for the shards");
    if (!rc && count > 1)
        rc = read_shards(&reading, snapshot, selection, shards, count, err);
    wp_strings_free(shards, count);
    if (!rc && origins->count > 1) {
        qsort(origins->rows, origins->count, sizeof(*origins->rows), by_time);
        rc = join_rest(facts, err);
    } else if (!rc) { /* nothing is told apart */
        wp_origins_fini(origins);
        take_whole(facts);
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < origins->count; i++)
        sum += origins->rows[i].total_ns;
    origins->missing_ns = facts->total_ns > sum ? facts->total_ns - sum : 0;
    return rc;
}

void wp_origins_fini(struct wp_origins *origins)
{
    for (size_t i = 0; i < origins->count; i++) {
        wp_report_destroy(origins->rows[i].report);
        origins->rows[i].report = NULL;
    }
    origins->count = 0;
}
