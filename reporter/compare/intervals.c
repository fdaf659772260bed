/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/intervals.h"

#include "storage/report/report_read.h"
#include "storage/report/report_series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_GAP_NS 20000000u /* a process that restarts itself is back by then */
#define INTERVALS_LIMIT 4096u

static int compare_gaps(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return a > b ? -1 : a < b;
}

/* The shortest gap that parts two recordings: all longer ones do, too. */
static int least_gap(const struct wp_span *spans, uint32_t count, uint64_t recordings, uint64_t *least_ns)
{
    uint64_t *gaps = calloc(count + (size_t)1, sizeof(*gaps));
    if (!gaps)
        return -ENOMEM;
    for (uint32_t i = 1; i < count; i++)
        gaps[i - 1] = spans[i].start_ns > spans[i - 1].end_ns ? spans[i].start_ns - spans[i - 1].end_ns : 0;
    if (count > 1)
        qsort(gaps, count - 1, sizeof(*gaps), compare_gaps);
    uint64_t parts = recordings > count ? count : recordings;
    *least_ns = parts > 1 && parts <= INTERVALS_LIMIT ? gaps[parts - 2] : UINT64_MAX;
    *least_ns = *least_ns < LEAST_GAP_NS ? LEAST_GAP_NS : *least_ns;
    free(gaps);
    return 0;
}

static double overlap(const struct wp_span *span, uint64_t start, uint64_t last)
{
    uint64_t from = span->start_ns > start ? span->start_ns : start, to = span->end_ns <= last ? span->end_ns : last;
    return to > from ? (double)(to - from) : 0;
}

/* Buckets and spans both ascend. */
static void place_buckets(
    struct wp_operand_intervals *intervals, const struct wp_report *report, const uint32_t *of_span)
{
    uint32_t buckets, count, at = 0;
    unsigned shift;
    const uint64_t *bucket = wp_report_buckets(report, &buckets, &shift);
    const struct wp_span *spans = wp_report_spans(report, &count);
    for (uint32_t i = 0; i < buckets; i++) {
        uint64_t start = bucket[i] << shift, last = start + ((uint64_t)1 << shift) - 1;
        double most = -1, here = 0;
        while (at + 1 < count && spans[at].end_ns <= start)
            at++;
        for (uint32_t span = at; span < count && (span == at || spans[span].start_ns <= last); span++) {
            bool goes_on = span > at && of_span[span] == of_span[span - 1];
            here = overlap(&spans[span], start, last) + (goes_on ? here : 0);
            if (here > most) {
                most = here;
                intervals->of_bucket[i] = of_span[span];
            }
        }
    }
}

int wp_intervals_find(struct wp_operand_intervals *intervals, const struct wp_report *report, uint64_t recordings)
{
    uint32_t count, buckets;
    unsigned shift;
    uint64_t least_ns = 0;
    const struct wp_span *spans = wp_report_spans(report, &count);
    wp_report_buckets(report, &buckets, &shift);
    memset(intervals, 0, sizeof(*intervals));
    intervals->of_bucket = calloc(buckets + (size_t)1, sizeof(*intervals->of_bucket));
    intervals->wall_ns = calloc(count + (size_t)1, sizeof(*intervals->wall_ns));
    uint32_t *of_span = calloc(count + (size_t)1, sizeof(*of_span));
    int rc = intervals->of_bucket && intervals->wall_ns && of_span ? least_gap(spans, count, recordings, &least_ns)
                                                                   : -ENOMEM;
    for (uint32_t i = 0; i < count && !rc; i++) {
        bool begins =
            i && spans[i].start_ns >= spans[i - 1].end_ns && spans[i].start_ns - spans[i - 1].end_ns >= least_ns;
        of_span[i] = i ? of_span[i - 1] + begins : 0;
        intervals->wall_ns[of_span[i]] += (double)(spans[i].end_ns - spans[i].start_ns);
        intervals->count = of_span[i] + 1;
    }
    if (!rc && count)
        place_buckets(intervals, report, of_span);
    intervals->count = intervals->count ? intervals->count : 1;
    free(of_span);
    if (rc)
        wp_intervals_fini(intervals);
    return rc;
}

void wp_intervals_fini(struct wp_operand_intervals *intervals)
{
    free(intervals->of_bucket);
    free(intervals->wall_ns);
    memset(intervals, 0, sizeof(*intervals));
}

/* By how many intervals of equal size these would be worth (Kish, Survey Sampling, 1965). */
static double effective(const double *size, uint32_t count)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        sum += size[i];
        squares += size[i] * size[i];
    }
    return squares > 0 ? sum * sum / squares : 0;
}

struct wp_measured_rate wp_intervals_rate(const struct wp_operand_intervals *intervals,
    const struct wp_measured_rate *rate, const double *part, const double *activity, size_t buckets,
    enum wp_interval_unit unit)
{
    struct wp_measured_rate between = {.value = rate->value};
    uint32_t count = intervals->count;
    double *sums = count > 1 ? calloc((size_t)count * 2, sizeof(*sums)) : NULL, *sizes = sums ? sums + count : NULL;
    double parts = 0, whole = 0, squares = 0;
    if (!sums)
        return between; /* without memory for it nothing is said of it */
    for (size_t i = 0; i < buckets; i++) {
        sums[intervals->of_bucket[i]] += part[i];
        sizes[intervals->of_bucket[i]] += activity[i];
    }
    for (uint32_t i = 0; i < count; i++) {
        /* A bucket in which two meet is given to one of them: the interval's own rate by its own length sets that
         * right.
         */
        if (unit == WP_INTERVAL_ITSELF) {
            sums[i] = sizes[i] > 0 ? sums[i] / sizes[i] * intervals->wall_ns[i] : 0;
            sizes[i] = 1;
        }
        parts += sums[i];
        whole += sizes[i];
    }
    double number = effective(sizes, count), ratio = whole > 0 ? parts / whole : 0;
    for (uint32_t i = 0; i < count; i++)
        squares += (sums[i] - ratio * sizes[i]) * (sums[i] - ratio * sizes[i]);
    if (number > 1 && parts > 0) {
        between.error = sqrt(number / (number - 1) * squares) / parts * rate->value;
        between.freedom = number - 1;
    }
    free(sums);
    return between;
}

bool wp_intervals_have_all(const struct wp_operand_intervals *intervals, const double *part, size_t buckets)
{
    double *sums = calloc(intervals->count, sizeof(*sums));
    bool has_all = sums;
    for (size_t i = 0; i < buckets && sums; i++)
        sums[intervals->of_bucket[i]] += part[i];
    for (uint32_t i = 0; i < intervals->count && has_all; i++)
        has_all = sums[i] > 0;
    free(sums);
    return has_all;
}
