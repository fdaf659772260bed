/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/compare_whole.h"

#include "reporter/compare/change.h"
#include "reporter/compare/comparable.h"
#include "reporter/compare/contention.h"
#include "storage/report/report_read.h"
#include "storage/report/report_transactions.h"
#include "storage/value/latency.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SERVICES 3u                 /* with most time, on both sides */
#define SERVICE_ROWS 4u             /* of each: rate and three latencies */
#define SERVICES_READ 64u           /* of a side */
#define LEAST_WALL 0.015            /* of a wall time between recordings: that a few of them differ by less is chance */
#define LEAST_BEYOND 5.0            /* requests beyond a quantile that tell where it is */
#define BUCKET_ERROR (0.125 / 3.46) /* of a value that lies somewhere in a bucket of an eighth (standard deviation) */

/* The latencies of a service on one side. */
struct service {
    char name[WP_ROLE_BYTES];
    double counts[WP_LATENCY_BUCKETS], count, sum_ns;
};

struct services {
    struct service *rows; /* owned */
    size_t count;
};

static struct wp_change *add_row(struct wp_compare *compare, const char *name, enum wp_change_kind kind)
{
    struct wp_changes *changes = &compare->changes[WP_CHANGE_WHOLE];
    struct wp_change *row = &changes->rows[changes->count++];
    *row = (struct wp_change){.name = name, .kind = kind, .category = -1, .p = 1, .adjusted = 1};
    return row;
}

/* The difference and its p. The errors are of the logarithm: times vary by shares of themselves. */
static void finish_row(struct wp_change *row, const struct wp_measured_rate logs[2], double pooled_freedom)
{
    const double *value[2] = {&row->rate[WP_BEFORE].value, &row->rate[WP_AFTER].value};
    struct wp_welch test = pooled_freedom > 0 ? wp_pooled_test(&logs[WP_BEFORE], &logs[WP_AFTER], pooled_freedom)
                                              : wp_welch_test(&logs[WP_BEFORE], &logs[WP_AFTER]);
    for (int i = 0; i < 2; i++) {
        row->rate[i].error = *value[i] * logs[i].error;
        row->rate[i].freedom = logs[i].freedom;
        row->ns[i] = (uint64_t)llround(fmax(1, fmin(*value[i], 9e18)));
    }
    row->delta = *value[WP_AFTER] - *value[WP_BEFORE];
    row->percent = 100 * row->delta / *value[WP_BEFORE];
    row->t = test.t;
    row->p = row->adjusted = test.p;
    if (logs[WP_BEFORE].freedom <= 0 || logs[WP_AFTER].freedom <= 0)
        row->verdict = WP_VERDICT_FEW;
}

/* --- wall time --- */

static double sum_squares(const struct wp_operand_intervals *intervals, double *mean_log, double *mean)
{
    double n = intervals->count, squares = 0, logs = 0, sum = 0;
    for (uint32_t i = 0; i < intervals->count; i++) {
        logs += log(intervals->wall_ns[i]);
        sum += intervals->wall_ns[i];
    }
    *mean_log = logs / n;
    *mean = sum / n;
    for (uint32_t i = 0; i < intervals->count; i++)
        squares += (log(intervals->wall_ns[i]) - *mean_log) * (log(intervals->wall_ns[i]) - *mean_log);
    return squares;
}

static bool has_walls(const struct wp_operand_intervals *intervals)
{
    bool has = intervals->count > 0;
    for (uint32_t i = 0; i < intervals->count; i++)
        has &= intervals->wall_ns[i] > 0;
    return has;
}

/* Of commands: from one recording to the next. The second of a service is always one long. */
static void add_wall(struct wp_compare_build *build)
{
    const struct wp_operand_intervals *operands = build->intervals;
    double squares = 0, freedom = (double)operands[WP_BEFORE].count + operands[WP_AFTER].count - 2, mean[2];
    struct wp_measured_rate logs[2] = {{0}};
    if (build->compare->options.per != WP_PER_RECORDING &&
        !(build->facts[WP_BEFORE]->is_command && build->facts[WP_AFTER]->is_command))
        return;
    if (!has_walls(&operands[WP_BEFORE]) || !has_walls(&operands[WP_AFTER]))
        return;
    struct wp_change *row = add_row(build->compare, "Wall time", WP_CHANGE_WALL);
    for (int i = 0; i < 2; i++)
        squares += sum_squares(&operands[i], &logs[i].value, &mean[i]);
    for (int i = 0; i < 2; i++) {
        row->rate[i].value = mean[i];
        row->count[i] = operands[i].count;
        logs[i].error = freedom > 0 ? sqrt(fmax(squares / freedom, LEAST_WALL * LEAST_WALL) / operands[i].count) : 0;
        logs[i].freedom = freedom;
    }
    finish_row(row, logs, freedom);
}

/* --- requests --- */

static struct service *service_of(struct services *services, const char *text)
{
    char room[WP_ROLE_BYTES];
    const char *name = wp_comparable_service(room, text);
    for (size_t i = 0; i < services->count; i++)
        if (!strcmp(services->rows[i].name, name))
            return &services->rows[i];
    if (services->count == SERVICES_READ)
        return NULL;
    struct service *service = &services->rows[services->count++];
    snprintf(service->name, sizeof(service->name), "%s", name);
    return service;
}

static int compare_services(const void *left, const void *right)
{
    const struct service *a = left, *b = right;
    if (a->sum_ns != b->sum_ns)
        return a->sum_ns > b->sum_ns ? -1 : 1;
    return strcmp(a->name, b->name);
}

static int read_services(struct services *services, const struct wp_report *report)
{
    uint32_t count;
    const struct wp_transaction *rows = wp_report_transactions(report, &count);
    services->count = 0;
    services->rows = calloc(SERVICES_READ, sizeof(*services->rows));
    for (uint32_t i = 0; i < count && services->rows; i++) {
        struct service *service = rows[i].part != WP_PART_WHOLE || rows[i].bucket >= WP_LATENCY_BUCKETS
            ? NULL
            : service_of(services, wp_report_text(report, rows[i].service));
        if (!service)
            continue;
        service->counts[rows[i].bucket] += (double)rows[i].count;
        service->count += (double)rows[i].count;
        service->sum_ns += (double)rows[i].ns;
    }
    if (services->rows)
        qsort(services->rows, services->count, sizeof(*services->rows), compare_services);
    return services->rows ? 0 : -ENOMEM;
}

/* Logarithm of the latency below which `share` of the requests are, even inside of its bucket. */
static double log_quantile(const struct service *service, double share)
{
    double wanted = fmin(fmax(share, 0), 1) * service->count, before = 0;
    unsigned last = 0;
    for (unsigned i = 0; i < WP_LATENCY_BUCKETS; i++) {
        if (service->counts[i] <= 0)
            continue;
        last = i;
        if (before + service->counts[i] >= wanted)
            break;
        before += service->counts[i];
    }
    double inside = service->counts[last] > 0 ? fmin((wanted - before) / service->counts[last], 1) : 0;
    double low = log(fmax(1, (double)wp_latency_floor(last))), high = log((double)wp_latency_floor(last + 1));
    return low + inside * (high - low);
}

/*
 * How much of itself a time of this side varies by, as its hops say: their errors know what differs inside of a
 * recording and from one to the next. Requests are kept as one sum of all recordings and cannot tell it themselves.
 */
static struct wp_measured_rate spread_of(const struct wp_compare_build *build, int operand)
{
    const struct wp_changes *hops = &build->compare->changes[WP_CHANGE_HOPS];
    double work = build->work_spread[operand]; /* what all hops have in common, by the work they do not show */
    double whole = 0, squares = 0, freedom = 0;
    for (size_t i = 0; i < hops->count; i++) {
        const struct wp_change *row = &hops->rows[i];
        double ns = row->rate[operand].value, share = row->rate[operand].error / ns;
        if (!wp_change_is_tested(row) || ns <= 0 || row->rate[operand].freedom <= 0)
            continue;
        whole += ns;
        squares += ns * share * share;
        freedom += ns * row->rate[operand].freedom;
    }
    return whole > 0
        ? (struct wp_measured_rate){.error = sqrt(squares / whole + work * work), .freedom = freedom / whole}
        : (struct wp_measured_rate){0};
}

static void add_rate(struct wp_compare_build *build, const struct service *const service[2])
{
    struct wp_compare *compare = build->compare;
    struct wp_measured_rate logs[2];
    struct wp_change *row = add_row(
        compare, wp_pool_printf(&compare->pool, "Requests a second on %s", service[WP_AFTER]->name), WP_CHANGE_RATE);
    for (int i = 0; i < 2; i++) {
        logs[i] = spread_of(build, i);
        row->rate[i].value = service[i]->count / fmax(1e-9, (double)compare->operand[i].wall_ns / 1e9);
        row->count[i] = (uint64_t)service[i]->count;
        logs[i].value = log(row->rate[i].value);
        logs[i].error = sqrt(logs[i].error * logs[i].error + 1 / service[i]->count);
        /* How many came in each recording is not kept, and a service's load is not its own: shown, not judged. */
        bool is_judged = service[i]->count >= LEAST_BEYOND && compare->options.per == WP_PER_RECORDING;
        logs[i].freedom = is_judged ? logs[i].freedom : 0;
    }
    finish_row(row, logs, 0);
}

/* Waits for a CPU that others had, of the slowest `share`: what is left of the difference without them, and that they
 * vary by as much as themselves. */
static void without_others(const struct wp_compare_build *build, struct wp_measured_rate logs[2], double share)
{
    double has[2] = {wp_contention_of(build, WP_BEFORE, share), wp_contention_of(build, WP_AFTER, share)};
    double difference = logs[WP_AFTER].value - logs[WP_BEFORE].value;
    logs[WP_AFTER].value = logs[WP_BEFORE].value + wp_contention_rest(difference, has[WP_BEFORE], has[WP_AFTER]);
    for (int i = 0; i < 2; i++)
        logs[i] = wp_rate_with_known(logs[i], has[i] / sqrt(fmax(1, build->intervals[i].count)));
}

/* The error of a quantile is that of its rank among the requests (binomial), and what the side varies by. */
static void add_latency(struct wp_compare_build *build, const struct service *const service[2], unsigned percent)
{
    struct wp_compare *compare = build->compare;
    double quantile = percent / 100.0;
    struct wp_measured_rate logs[2];
    struct wp_change *row = add_row(compare,
        wp_pool_printf(&compare->pool, "p%u of requests on %s", percent, service[WP_AFTER]->name), WP_CHANGE_LATENCY);
    for (int i = 0; i < 2; i++) {
        double rank = sqrt(quantile * (1 - quantile) / service[i]->count);
        double own = (log_quantile(service[i], quantile + rank) - log_quantile(service[i], quantile - rank)) / 2;
        logs[i] = spread_of(build, i);
        logs[i].value = log_quantile(service[i], quantile);
        logs[i] = wp_rate_with_known(logs[i], hypot(own, BUCKET_ERROR));
        logs[i].freedom = service[i]->count * (1 - quantile) < LEAST_BEYOND ? 0 : logs[i].freedom;
        row->rate[i].value = exp(logs[i].value);
        row->count[i] = (uint64_t)service[i]->count;
    }
    without_others(build, logs, fmin(1, 2 * (1 - quantile))); /* the quantile is in the middle of the slowest so many */
    finish_row(row, logs, 0);
}

static void add_services(struct wp_compare_build *build, const struct services services[2])
{
    size_t met = 0;
    for (size_t i = 0; i < services[WP_AFTER].count && met < SERVICES; i++) {
        const struct service *both[2] = {NULL, &services[WP_AFTER].rows[i]};
        for (size_t j = 0; j < services[WP_BEFORE].count && !both[WP_BEFORE]; j++)
            if (!strcmp(services[WP_BEFORE].rows[j].name, both[WP_AFTER]->name))
                both[WP_BEFORE] = &services[WP_BEFORE].rows[j];
        if (!both[WP_BEFORE] || both[WP_BEFORE]->count <= 0 || both[WP_AFTER]->count <= 0)
            continue;
        met++;
        add_rate(build, both);
        add_latency(build, both, 50);
        add_latency(build, both, 95);
        add_latency(build, both, 99);
    }
}

int wp_compare_whole(struct wp_compare_build *build)
{
    struct wp_changes *changes = &build->compare->changes[WP_CHANGE_WHOLE];
    struct services services[2] = {{0}};
    changes->rows = wp_pool_alloc(&build->compare->pool, (SERVICES * SERVICE_ROWS + 1) * sizeof(*changes->rows));
    int rc = changes->rows ? 0 : -ENOMEM;
    for (int i = 0; i < 2 && !rc; i++)
        rc = read_services(&services[i], build->facts[i]->report);
    if (!rc) {
        add_wall(build);
        add_services(build, services);
    }
    free(services[WP_BEFORE].rows);
    free(services[WP_AFTER].rows);
    return rc ? rc : build->compare->pool.failed ? -ENOMEM : 0;
}

void wp_compare_judge_whole(struct wp_compare *compare)
{
    struct wp_changes *changes = &compare->changes[WP_CHANGE_WHOLE];
    for (size_t i = 0; i < changes->count; i++) {
        wp_change_judge(compare, &changes->rows[i], 0);
        compare->is_worse_whole |= changes->rows[i].verdict == WP_VERDICT_WORSE;
        compare->is_better_whole |= changes->rows[i].verdict == WP_VERDICT_BETTER;
    }
    compare->is_better_whole &= !compare->is_worse_whole;
}
