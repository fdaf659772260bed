/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FACTS_OVER_TIME_H
#define WP_REPORTER_FACTS_OVER_TIME_H
/* The categories over time: the report's samples, bucket by bucket (storage/report/report.h says what a bucket is). */
#include "reporter/facts/facts.h"

#include <stdbool.h>

struct wp_time_bucket {
    uint64_t start_ns; /* realtime */
    uint64_t total_ns, categories[WP_CATEGORIES];
    bool is_after_gap; /* nothing was recorded in the buckets just before it */
};

/* Something that happened. */
struct wp_time_mark {
    uint64_t time_ns; /* realtime */
    const char *text;
};

struct wp_over_time {
    struct wp_time_bucket *buckets; /* ascending */
    uint32_t count, mark_count;
    struct wp_time_mark *marks; /* of the caller, not of wp_over_time_build */
    uint64_t width_ns;
    uint64_t most_ns;     /* in any bucket */
    uint64_t timeless_ns; /* of the total, of which it is not known when it was */
};

/* In `pool`; out of memory shows in pool->failed. */
void wp_over_time_build(struct wp_over_time *timeline, struct wp_pool *pool, const struct wp_facts *facts);
/* Of the time the categories alone that have a bit in `kept` (1 << WP_SCHEDULER); what is timeless is not known then.
 */
void wp_over_time_keep(struct wp_over_time *timeline, uint32_t kept);

#endif
