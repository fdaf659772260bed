/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_REPORT_REPORT_SERIES_H
#define WP_STORAGE_REPORT_REPORT_SERIES_H
/* When the time of a report was: samples in buckets of realtime. */
#include "storage/report/report.h"

/* One piece of which it is known when it was (realtime): wp_report_add, and its share in each bucket. */
void wp_report_add_at(
    struct wp_report *report, uint32_t node, enum wp_category category, uint64_t start_ns, uint64_t end_ns);
/* The same of a further part of a piece that was counted: its time only. */
void wp_report_add_part_at(
    struct wp_report *report, uint32_t node, enum wp_category category, uint64_t start_ns, uint64_t end_ns);
/* `count` pieces, `ns` long together, that lie in the same bucket of the least width: that of `at_ns` (realtime). */
void wp_report_add_within(
    struct wp_report *report, uint32_t node, enum wp_category category, uint64_t at_ns, uint64_t ns, uint64_t count);
/* In no order. What was added without a time (by an old version) is in the cells only. */
const struct wp_cell_sample *wp_report_samples(const struct wp_report *report, uint32_t *count);
/* The numbers of the buckets that hold time, ascending; *shift is the logarithm of their width. */
const uint64_t *wp_report_buckets(const struct wp_report *report, uint32_t *count, unsigned *shift);

/* Adds to the sample of `cell` in the bucket `bucket` of width 2^shift, which may widen all buckets. */
void wp_report_sample_add(struct wp_report *report, uint32_t cell, uint64_t bucket, unsigned shift, uint64_t ns);
/* The place of a bucket of the report's own width, bucket_count when it is not there. */
uint32_t wp_report_bucket_index(const struct wp_report *report, uint64_t bucket);

#endif
