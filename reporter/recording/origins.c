/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/recording/origins.h"

#include "reporter/facts/facts.h"
#include "reporter/facts/host_names.h"
#include "storage/report/report_merge.h"
#include "storage/report/report_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct reading {
    struct wp_page_context *context;
    size_t room;
};

static int by_time(const void *left, const void *right)
{
    const struct wp_host_origin *a = left, *b = right;
    if (a->total_ns != b->total_ns)
        return a->total_ns > b->total_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static void describe(
    struct wp_pool *pool, struct wp_host_origin *origin, const struct wp_report *report, const char *shard)
{
    uint32_t count;
    const uint32_t *hosts = wp_report_hosts(report, &count);
    origin->host_count = count;
    origin->hosts = "";
    if (count == 1) {
        origin->name = wp_pool_clip(pool, wp_report_text(report, hosts[0]), WP_HOST_NAME_BYTES);
        return;
    }
    origin->name = shard ? wp_pool_printf(pool, "shard %s", shard) : "all hosts";
    origin->hosts = wp_host_names(pool, report);
}

static struct wp_host_origin *find(struct wp_origins *origins, const struct wp_host_origin *wanted)
{
    for (size_t i = 0; i < origins->count; i++)
        if ((origins->rows[i].host_count == 1) == (wanted->host_count == 1) &&
            !strcmp(origins->rows[i].name, wanted->name))
            return &origins->rows[i];
    return NULL;
}

static struct wp_host_origin *add(struct reading *reading, const struct wp_host_origin *made)
{
    struct wp_origins *origins = &reading->context->origins;
    if (origins->count == reading->room) {
        size_t room = reading->room ? reading->room * 2 : 16;
        struct wp_host_origin *grown = wp_pool_alloc(&reading->context->pool, room * sizeof(*grown));
        if (!grown)
            return NULL;
        if (origins->count)
            memcpy(grown, origins->rows, origins->count * sizeof(*grown));
        origins->rows = grown;
        reading->room = room;
    }
    origins->rows[origins->count] = *made;
    return &origins->rows[origins->count++];
}

/* Into the origin of the same host or shard, or as a new one. */
static int take_share(void *context, const struct wp_share *share, struct wp_error *err)
{
    struct reading *reading = context;
    struct wp_host_origin made = {.report = share->report};
    describe(&reading->context->pool, &made, share->report, share->shard);
    struct wp_host_origin *there = find(&reading->context->origins, &made);
    int rc = 0;
    if (there) {
        rc = wp_report_merge(there->report, share->report, err);
        wp_report_destroy(share->report);
    } else if (!add(reading, &made)) {
        wp_report_destroy(share->report);
        rc = wp_error_set(err, -ENOMEM, "out of memory for the shares of hosts");
    }
    return rc;
}

/* What is known when all of it has been read; those without any time are left out. */
static void finish(struct wp_page_context *context)
{
    struct wp_origins *origins = &context->origins;
    size_t kept = 0;
    for (size_t i = 0; i < origins->count; i++) {
        struct wp_host_origin *origin = &origins->rows[i];
        origin->total_ns = wp_report_total(origin->report);
        if (origin->host_count != 1) {
            uint32_t count;
            wp_report_hosts(origin->report, &count);
            origin->host_count = count;
            origin->hosts = wp_host_names(&context->pool, origin->report);
        }
        if (origin->total_ns)
            origins->rows[kept++] = *origin;
        else
            wp_report_destroy(origin->report);
    }
    origins->count = kept;
}

/* Those beyond the limit become one. */
static int join_rest(struct wp_page_context *context, struct wp_error *err)
{
    struct wp_origins *origins = &context->origins;
    int rc = 0;
    if (origins->count <= WP_ORIGINS)
        return 0;
    struct wp_host_origin *rest = &origins->rows[WP_ORIGINS];
    for (size_t i = WP_ORIGINS + 1; i < origins->count; i++) {
        rc = rc ? rc : wp_report_merge(rest->report, origins->rows[i].report, err);
        wp_report_destroy(origins->rows[i].report);
    }
    rest->name = wp_pool_printf(&context->pool, "%zu others", origins->count - WP_ORIGINS);
    rest->hosts = wp_host_names(&context->pool, rest->report);
    rest->total_ns = wp_report_total(rest->report);
    rest->host_count = SIZE_MAX;
    origins->count = WP_ORIGINS + 1;
    return rc;
}

static int make_whole(struct wp_page_context *context)
{
    const struct wp_facts *facts = context->facts;
    struct wp_origins *origins = &context->origins;
    const char *only = origins->count == 1 && origins->rows[0].host_count == 1 ? origins->rows[0].name : NULL;
    wp_origins_fini(origins);
    origins->rows = wp_pool_alloc(&context->pool, sizeof(*origins->rows));
    if (!origins->rows)
        return -ENOMEM;
    if (only) /* the other hosts of the fleet have nothing of it themselves */
        origins->rows[0] = (struct wp_host_origin){.name = only, .hosts = "", .host_count = 1};
    else
        describe(&context->pool, &origins->rows[0], facts->report, NULL);
    origins->rows[0].total_ns = facts->total_ns;
    origins->count = 1;
    return 0;
}

int wp_origins_read(struct wp_page_context *context, const struct wp_snapshot *snapshot,
    const struct wp_selection *selection, struct wp_error *err)
{
    const struct wp_facts *facts = context->facts;
    struct reading reading = {.context = context};
    struct wp_origins *origins = &context->origins;
    int rc = facts->host_count > 1
        ? wp_snapshot_shares(snapshot, facts->aggregate, selection, take_share, &reading, err)
        : 0;
    if (!rc)
        finish(context);
    if (!rc && origins->count > 1) {
        qsort(origins->rows, origins->count, sizeof(*origins->rows), by_time);
        rc = join_rest(context, err);
    } else if (!rc && make_whole(context)) { /* nothing is separated */
        rc = wp_error_set(err, -ENOMEM, "out of memory for the shares of hosts");
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < origins->count; i++)
        sum += origins->rows[i].total_ns;
    origins->missing_ns = facts->total_ns > sum ? facts->total_ns - sum : 0;
    return rc;
}
