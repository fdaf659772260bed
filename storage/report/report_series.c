/* SPDX-License-Identifier: Apache-2.0 */
/* When the time of the cells was: samples in at most WP_REPORT_BUCKETS buckets, widened by doubling. */
#include "storage/report/report_series.h"

#include "common/array.h"
#include "storage/report/report_body.h"
#include "storage/report/report_rows.h"

#include <stdlib.h>
#include <string.h>

/* The first place whose bucket is not below `bucket`. */
static uint32_t lower_bound(const struct wp_report *report, uint64_t bucket)
{
    uint32_t count = report->bucket_count;
    if (count && report->buckets[count - 1] < bucket) /* time mostly goes on */
        return count;
    return WP_LOWER_BOUND(middle, 0, count, report->buckets[middle] < bucket);
}

uint32_t wp_report_bucket_index(const struct wp_report *report, uint64_t bucket)
{
    uint32_t place = lower_bound(report, bucket);
    return place < report->bucket_count && report->buckets[place] == bucket ? place : report->bucket_count;
}

/* Rows of one cell that now share a bucket become one. */
static void join_samples(struct wp_report *report, unsigned by)
{
    struct wp_cell_sample *old = report->samples,
                          *rows = reallocarray(NULL, report->sample_count + (size_t)1, sizeof(*rows));
    uint32_t count = 0;
    if (!rows) {
        report->has_failed = true;
        return;
    }
    for (uint32_t cell = 0; cell < report->cell_count; cell++) {
        uint32_t first = count, at = report->cell_sample[cell], newest = WP_NO_CELL;
        for (; at != WP_NO_CELL; at = old[at].next) {
            uint64_t bucket = old[at].bucket >> by;
            uint32_t same = count;
            while (same > first && rows[same - 1].bucket != bucket)
                same--;
            if (same > first) {
                rows[same - 1].ns = wp_sum(rows[same - 1].ns, old[at].ns);
                continue;
            }
            rows[count] = (struct wp_cell_sample){bucket, old[at].ns, cell, newest};
            newest = count++;
        }
        report->cell_sample[cell] = newest;
    }
    report->samples = rows;
    report->sample_count = count;
    report->sample_room = count; /* grows from what it has; the old block had at least as much */
    free(old);
}

static void widen(struct wp_report *report, unsigned shift)
{
    unsigned by = shift - report->bucket_shift;
    uint32_t count = 0;
    for (uint32_t i = 0; i < report->bucket_count; i++) {
        uint64_t bucket = report->buckets[i] >> by;
        if (!count || report->buckets[count - 1] != bucket)
            report->buckets[count++] = bucket;
    }
    report->bucket_count = count;
    report->bucket_shift = shift;
    if (report->sample_count)
        join_samples(report, by);
}

/* The least width at which `bucket` finds room among the others. */
static unsigned shift_with(const struct wp_report *report, uint64_t bucket)
{
    unsigned by = 0;
    for (;;) {
        uint32_t count = 0;
        uint64_t last = 0;
        bool found = false;
        by++;
        for (uint32_t i = 0; i < report->bucket_count; i++) {
            uint64_t here = report->buckets[i] >> by;
            found |= here == bucket >> by;
            if (!i || here != last)
                count++;
            last = here;
        }
        if (count + !found <= WP_REPORT_BUCKETS)
            return report->bucket_shift + by;
    }
}

/* Makes the bucket known, at whatever width that takes; returns its number then. */
static uint64_t enter_bucket(struct wp_report *report, uint64_t bucket)
{
    if (wp_report_bucket_index(report, bucket) < report->bucket_count)
        return bucket;
    if (report->bucket_count == WP_REPORT_BUCKETS) {
        unsigned shift = shift_with(report, bucket), by = shift - report->bucket_shift;
        widen(report, shift);
        bucket >>= by;
        if (wp_report_bucket_index(report, bucket) < report->bucket_count)
            return bucket;
    }
    uint32_t place = lower_bound(report, bucket);
    memmove(&report->buckets[place + 1], &report->buckets[place],
        (report->bucket_count - place) * sizeof(*report->buckets));
    report->buckets[place] = bucket;
    report->bucket_count++;
    return bucket;
}

static uint32_t find_sample(const struct wp_report *report, uint32_t cell, uint64_t bucket)
{
    uint32_t row = report->cell_sample[cell];
    while (row != WP_NO_CELL && report->samples[row].bucket != bucket)
        row = report->samples[row].next;
    return row;
}

void wp_report_sample_add(struct wp_report *report, uint32_t cell, uint64_t bucket, unsigned shift, uint64_t ns)
{
    if (cell >= report->cell_count || !ns)
        return;
    if (shift > report->bucket_shift)
        widen(report, shift);
    bucket >>= report->bucket_shift - shift;
    uint32_t row = find_sample(report, cell, bucket);
    if (row == WP_NO_CELL) { /* a bucket that the cell has is known: most of the time nothing more is asked */
        uint64_t entered = enter_bucket(report, bucket);
        row = entered == bucket ? row : find_sample(report, cell, entered);
        bucket = entered;
    }
    if (row == WP_NO_CELL) {
        row = report->sample_count;
        if (report->has_failed || wp_rows_grow(&report->samples, &report->sample_room, row, sizeof(*report->samples))) {
            report->has_failed = true;
            return;
        }
        report->samples[row] = (struct wp_cell_sample){bucket, 0, cell, report->cell_sample[cell]};
        report->cell_sample[cell] = row;
        report->sample_count++;
    }
    report->samples[row].ns = wp_sum(report->samples[row].ns, ns);
}

/* The time of a cell's piece, bucket by bucket. */
static void add_samples(struct wp_report *report, uint32_t cell, uint64_t start_ns, uint64_t end_ns)
{
    uint64_t length = end_ns > start_ns ? end_ns - start_ns : 0;
    /* A piece longer than all buckets together would need this width anyway; without it the loop has no bound. */
    unsigned shift = report->bucket_shift;
    while (length && ((end_ns - 1) >> shift) - (start_ns >> shift) >= WP_REPORT_BUCKETS)
        shift++;
    while (start_ns < end_ns) {
        uint64_t bucket = start_ns >> shift, last = ((bucket + 1) << shift) - 1; /* all ones where the sum wraps */
        uint64_t until = last < end_ns ? last + 1 : end_ns;
        wp_report_sample_add(report, cell, bucket, shift, until - start_ns);
        start_ns = until;
    }
}

void wp_report_add_at(
    struct wp_report *report, uint32_t node, enum wp_category category, uint64_t start_ns, uint64_t end_ns)
{
    uint32_t cell = wp_report_cell_add(report, node, category, end_ns > start_ns ? end_ns - start_ns : 0, 1);
    if (cell != WP_NO_CELL)
        add_samples(report, cell, start_ns, end_ns);
}

void wp_report_add_part_at(
    struct wp_report *report, uint32_t node, enum wp_category category, uint64_t start_ns, uint64_t end_ns)
{
    uint32_t cell = wp_report_cell_add(report, node, category, end_ns > start_ns ? end_ns - start_ns : 0, 0);
    if (cell != WP_NO_CELL)
        add_samples(report, cell, start_ns, end_ns);
}

void wp_report_add_within(
    struct wp_report *report, uint32_t node, enum wp_category category, uint64_t at_ns, uint64_t ns, uint64_t count)
{
    uint32_t cell = wp_report_cell_add(report, node, category, ns, count);
    if (cell != WP_NO_CELL)
        wp_report_sample_add(report, cell, at_ns >> WP_REPORT_BUCKET_SHIFT, WP_REPORT_BUCKET_SHIFT, ns);
}

const struct wp_cell_sample *wp_report_samples(const struct wp_report *report, uint32_t *count)
{
    *count = report->sample_count;
    return report->samples;
}

const uint64_t *wp_report_buckets(const struct wp_report *report, uint32_t *count, unsigned *shift)
{
    *count = report->bucket_count;
    *shift = report->bucket_shift;
    return report->buckets;
}
