/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/facts/over_time.h"

#include "common/array.h"
#include "storage/report/report_read.h"
#include "storage/report/report_series.h"

#include <string.h>

static uint32_t find(const uint64_t *buckets, uint32_t count, uint64_t bucket)
{
    uint32_t low = WP_LOWER_BOUND(middle, 0, count, buckets[middle] < bucket);
    return low < count && buckets[low] == bucket ? low : count;
}

void wp_over_time_build(struct wp_over_time *timeline, struct wp_pool *pool, const struct wp_facts *facts)
{
    uint32_t count, samples, cells;
    unsigned shift;
    const uint64_t *buckets = wp_report_buckets(facts->report, &count, &shift);
    const struct wp_cell_sample *sample = wp_report_samples(facts->report, &samples);
    const struct wp_cell *cell = wp_report_cells(facts->report, &cells);
    uint64_t timed = 0;
    memset(timeline, 0, sizeof(*timeline));
    timeline->buckets = wp_pool_alloc(pool, (count + 1u) * sizeof(*timeline->buckets));
    if (!timeline->buckets)
        return;
    timeline->count = count;
    timeline->width_ns = (uint64_t)1 << shift;
    for (uint32_t i = 0; i < count; i++) {
        timeline->buckets[i].start_ns = buckets[i] << shift;
        timeline->buckets[i].is_after_gap = i && buckets[i] != buckets[i - 1] + 1;
    }
    for (uint32_t i = 0; i < samples; i++) {
        uint32_t place = find(buckets, count, sample[i].bucket);
        if (place == count || sample[i].cell >= cells || cell[sample[i].cell].category >= WP_CATEGORIES)
            continue;
        timeline->buckets[place].categories[cell[sample[i].cell].category] += sample[i].ns;
        timeline->buckets[place].total_ns += sample[i].ns;
        timed += sample[i].ns;
    }
    for (uint32_t i = 0; i < count; i++)
        if (timeline->buckets[i].total_ns > timeline->most_ns)
            timeline->most_ns = timeline->buckets[i].total_ns;
    timeline->timeless_ns = facts->total_ns > timed ? facts->total_ns - timed : 0;
}

void wp_over_time_keep(struct wp_over_time *timeline, uint32_t kept)
{
    timeline->most_ns = timeline->timeless_ns = 0;
    for (uint32_t i = 0; i < timeline->count; i++) {
        struct wp_time_bucket *bucket = &timeline->buckets[i];
        bucket->total_ns = 0;
        for (unsigned j = 0; j < WP_CATEGORIES; j++) {
            bucket->categories[j] = kept & 1u << j ? bucket->categories[j] : 0;
            bucket->total_ns += bucket->categories[j];
        }
        timeline->most_ns = bucket->total_ns > timeline->most_ns ? bucket->total_ns : timeline->most_ns;
    }
}
