/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/requests/slow_requests.h"

#include "reporter/facts/doing.h"
#include "storage/report/report_read.h"
#include "storage/report/report_transactions.h"
#include "storage/value/rows.h"

#include <stdlib.h>
#include <string.h>

#define PATH "path:"       /* begins what says who works for others */
#define SCHEDULER "sched:" /* begins what says who had the CPU */

struct building {
    struct wp_pool *pool;
    const struct wp_report *report;
    const struct wp_transaction *rows;
    uint32_t row_count;
    uint32_t *order; /* rows by service, then by who, what and part */
    struct wp_service_fact *services;
    size_t service_count;
};

/* Who is busy with others, behind "path:"; NULL: the row does not say. */
static const char *busy_path(const struct wp_slow_row *row)
{
    bool is_path = row->part == WP_OTHER_PATH && !strncmp(row->what, PATH, sizeof(PATH) - 1);
    return is_path ? row->what + sizeof(PATH) - 1 : NULL;
}

const char *wp_slow_requests_path(struct wp_pool *pool, const struct wp_slow_row *row, size_t bytes)
{
    const char *path = busy_path(row);
    if (!path)
        return NULL;
    size_t opened = *path == '[', length = strcspn(path + opened, "]");
    const char *name = wp_pool_printf(
        pool, "%.*s%s", (int)length, path + opened, path[opened + length] ? path + opened + length + 1 : "");
    return wp_pool_printf(pool, "%s, which works for others", wp_pool_clip(pool, name, bytes));
}

const char *wp_slow_requests_does(const struct wp_slow_row *row)
{
    if (busy_path(row))
        return "waits for";
    if (row->part == WP_OTHER_PATH)
        return "is behind work for others";
    if (row->part != WP_PART_UNREAD)
        return wp_category_doing((enum wp_category)row->part);
    return *row->who ? "leaves the request unread" : "lies unread in the socket";
}

const char *wp_slow_requests_where(struct wp_pool *pool, const struct wp_slow_row *row, size_t bytes)
{
    const char *path = wp_slow_requests_path(pool, row, bytes);
    if (path)
        return wp_pool_printf(pool, " %s", path);
    if (!strncmp(row->what, SCHEDULER, sizeof(SCHEDULER) - 1))
        return wp_pool_printf(pool, " (%s)", wp_pool_clip(pool, row->what + sizeof(SCHEDULER) - 1, bytes));
    return *row->what ? wp_pool_printf(pool, " in %s", wp_pool_clip(pool, row->what, bytes)) : "";
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct building *building = context;
    const struct wp_transaction *a = &building->rows[*(const uint32_t *)left],
                                *b = &building->rows[*(const uint32_t *)right];
    int rc = a->service == b->service
        ? 0
        : strcmp(wp_report_text(building->report, a->service), wp_report_text(building->report, b->service));
    if (!rc && (a->part == WP_PART_WHOLE) != (b->part == WP_PART_WHOLE))
        return a->part == WP_PART_WHOLE ? -1 : 1;
    if (!rc && a->who != b->who)
        rc = strcmp(wp_report_text(building->report, a->who), wp_report_text(building->report, b->who));
    if (!rc && a->what != b->what)
        rc = strcmp(wp_report_text(building->report, a->what), wp_report_text(building->report, b->what));
    if (!rc && a->part != b->part)
        rc = a->part < b->part ? -1 : 1;
    return rc ? rc : a->bucket < b->bucket ? -1 : a->bucket > b->bucket;
}

/* The first bucket by whose end at least this many thousandths of the requests are done. */
static unsigned bucket_of(const uint64_t counts[WP_LATENCY_BUCKETS], uint64_t count, unsigned thousandths)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < WP_LATENCY_BUCKETS; i++)
        if ((sum += counts[i]) && (__uint128_t)sum * 1000 >= (__uint128_t)count * thousandths)
            return i;
    return WP_LATENCY_BUCKETS - 1;
}

static uint64_t end_of(unsigned bucket)
{
    return wp_latency_floor(bucket + 1);
}

struct split {
    unsigned usual, slow; /* up to this bucket, from this bucket on */
};

static void take_latencies(
    struct building *building, struct wp_service_fact *service, struct split *split, uint32_t first, uint32_t end)
{
    uint64_t counts[WP_LATENCY_BUCKETS] = {0}, sums[WP_LATENCY_BUCKETS] = {0}, usual_ns = 0, slow_ns = 0;
    for (uint32_t i = first; i < end; i++) {
        const struct wp_transaction *row = &building->rows[building->order[i]];
        counts[row->bucket] = wp_sum(counts[row->bucket], row->count);
        sums[row->bucket] = wp_sum(sums[row->bucket], row->ns);
        service->count = wp_sum(service->count, row->count);
        service->sum_ns = wp_sum(service->sum_ns, row->ns);
    }
    split->usual = bucket_of(counts, service->count, 500);
    split->slow = bucket_of(counts, service->count, 950);
    service->median_ns = end_of(split->usual);
    service->p90_ns = end_of(bucket_of(counts, service->count, 900));
    service->p95_ns = end_of(split->slow);
    service->p99_ns = end_of(bucket_of(counts, service->count, 990));
    if (split->slow <= split->usual)
        split->slow = split->usual + 1;
    service->columns = wp_pool_alloc(building->pool, WP_LATENCY_BUCKETS * sizeof(*service->columns));
    for (unsigned i = 0; i < WP_LATENCY_BUCKETS && service->columns; i++) {
        bool is_slow = i >= split->slow, is_usual = i <= split->usual;
        service->usual_count += is_usual ? counts[i] : 0;
        service->slow_count += is_slow ? counts[i] : 0;
        usual_ns += is_usual ? sums[i] : 0;
        slow_ns += is_slow ? sums[i] : 0;
        if (counts[i])
            service->columns[service->column_count++] =
                (struct wp_latency_column){wp_latency_floor(i), end_of(i), counts[i], is_slow};
    }
    service->usual_mean_ns = service->usual_count ? usual_ns / service->usual_count : 0;
    service->slow_mean_ns = service->slow_count ? slow_ns / service->slow_count : 0;
}

static int compare_slow(const void *left, const void *right)
{
    const struct wp_slow_row *a = left, *b = right;
    int64_t a_more = (int64_t)(a->slow_ns - a->usual_ns), b_more = (int64_t)(b->slow_ns - b->usual_ns);
    if (a_more != b_more)
        return a_more > b_more ? -1 : 1;
    int rc = strcmp(a->who, b->who);
    rc = rc ? rc : strcmp(a->what, b->what);
    return rc ? rc : a->part < b->part ? -1 : a->part > b->part;
}

static bool is_same(const struct wp_transaction *a, const struct wp_transaction *b)
{
    return a->who == b->who && a->what == b->what && a->part == b->part;
}

static void take_parts(
    struct building *building, struct wp_service_fact *service, const struct split *split, uint32_t first, uint32_t end)
{
    service->rows = wp_pool_alloc(building->pool, (end - first + 1u) * sizeof(*service->rows));
    for (uint32_t i = first; i < end && service->rows;) {
        const struct wp_transaction *key = &building->rows[building->order[i]], *row;
        uint64_t usual_ns = 0, slow_ns = 0;
        for (; i < end && is_same(row = &building->rows[building->order[i]], key); i++) {
            usual_ns += row->bucket <= split->usual ? row->ns : 0;
            slow_ns += row->bucket >= split->slow ? row->ns : 0;
        }
        struct wp_slow_row *made = &service->rows[service->row_count];
        *made = (struct wp_slow_row){wp_report_text(building->report, key->who),
            wp_report_text(building->report, key->what), key->part,
            service->usual_count ? usual_ns / service->usual_count : 0,
            service->slow_count ? slow_ns / service->slow_count : 0};
        service->row_count += made->usual_ns || made->slow_ns;
    }
    if (service->rows)
        qsort(service->rows, service->row_count, sizeof(*service->rows), compare_slow);
}

static void take_slowest(struct building *building, struct wp_service_fact *service, uint32_t id)
{
    uint32_t count;
    const struct wp_slowest *rows = wp_report_slowest(building->report, &count);
    for (uint32_t i = 0; i < count; i++)
        if (rows[i].service == id) {
            service->slowest_ns = rows[i].ns;
            service->slowest_start_ns = rows[i].start_ns;
        }
}

static void take_services(struct building *building)
{
    for (uint32_t i = 0; i < building->row_count;) {
        uint32_t id = building->rows[building->order[i]].service, whole = i, end;
        while (whole < building->row_count && building->rows[building->order[whole]].service == id &&
            building->rows[building->order[whole]].part == WP_PART_WHOLE)
            whole++;
        for (end = whole; end < building->row_count && building->rows[building->order[end]].service == id; end++)
            ;
        struct wp_service_fact *service = &building->services[building->service_count];
        struct split split;
        service->name = wp_report_text(building->report, id);
        take_latencies(building, service, &split, i, whole);
        take_parts(building, service, &split, whole, end);
        take_slowest(building, service, id);
        building->service_count += service->count > 0;
        if (!service->count)
            memset(service, 0, sizeof(*service)); /* parts of requests that are not there: nothing to say */
        i = end;
    }
}

static int compare_services(const void *left, const void *right)
{
    const struct wp_service_fact *a = left, *b = right;
    if (a->sum_ns != b->sum_ns)
        return a->sum_ns > b->sum_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

struct wp_service_fact *wp_slow_requests_build(struct wp_pool *pool, const struct wp_facts *facts, size_t *count)
{
    struct building building = {.pool = pool, .report = facts->report};
    *count = 0;
    building.rows = wp_report_transactions(facts->report, &building.row_count);
    if (!building.row_count)
        return NULL;
    building.order = wp_pool_alloc(pool, building.row_count * sizeof(*building.order));
    building.services = wp_pool_alloc(pool, (building.row_count + 1u) * sizeof(*building.services));
    if (!building.order || !building.services)
        return NULL;
    for (uint32_t i = 0; i < building.row_count; i++)
        building.order[i] = i;
    qsort_r(building.order, building.row_count, sizeof(*building.order), compare_rows, &building);
    take_services(&building);
    qsort(building.services, building.service_count, sizeof(*building.services), compare_services);
    *count = building.service_count;
    return building.services;
}
