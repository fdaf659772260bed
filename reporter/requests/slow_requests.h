/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_REQUESTS_SLOW_REQUESTS_H
#define WP_REPORTER_REQUESTS_SLOW_REQUESTS_H
/*
 * How long requests took, and what the slow ones did that the usual ones did not. Usual are those up to the median's
 * bucket, slow the twentieth part that took longest, as near as buckets tell; of both what a request consisted of, on
 * average.
 */
#include "reporter/display/latency_column.h"
#include "reporter/facts/facts.h"

struct wp_slow_row {
    const char *who, *what;     /* processes, through whom; the function that waited, or "path:[redis]", "" none */
    unsigned part;              /* enum wp_category, or WP_PART_UNREAD: what its reader did before it read it */
    uint64_t usual_ns, slow_ns; /* of one request, on average */
};

struct wp_service_fact {
    const char *name;
    uint64_t count, sum_ns;
    uint64_t median_ns, p90_ns, p95_ns, p99_ns; /* the upper edges of their buckets: at most an eighth too much */
    uint64_t slowest_ns, slowest_start_ns;
    uint64_t usual_count, slow_count, usual_mean_ns, slow_mean_ns;
    struct wp_latency_column *columns; /* ascending, gaps left out */
    struct wp_slow_row *rows;          /* what the slow ones have more of, first */
    size_t column_count, row_count;
};

/* Of a report in facts->report: the services with most time first, in the pool. NULL and 0 when there are none. */
struct wp_service_fact *wp_slow_requests_build(struct wp_pool *pool, const struct wp_facts *facts, size_t *count);
/* "waits for the disk" of "web › postgres waits for the disk in pread": what a row's process does, or the request. */
const char *wp_slow_requests_does(const struct wp_slow_row *row);
/* What "waits for" goes on with, where another one's work for others is waited for: "redis-server, which works for
 * others", the name clipped to `bytes`; NULL: the row is of something else. In the pool. */
const char *wp_slow_requests_path(struct wp_pool *pool, const struct wp_slow_row *row, size_t bytes);
/* Where: " in pread", " (behind [gzip])"; "" where nothing is known. In the pool. */
const char *wp_slow_requests_where(struct wp_pool *pool, const struct wp_slow_row *row, size_t bytes);

#endif
