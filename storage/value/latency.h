/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_VALUE_LATENCY_H
#define WP_STORAGE_VALUE_LATENCY_H
/*
 * Latencies in fixed buckets, so that distributions add up: eight for each doubling from a microsecond on, after the
 * idea of Tene's HdrHistogram. A bucket is at most an eighth of its lower edge wide.
 */
#include <stdint.h>

#define WP_LATENCY_BUCKETS 256u
#define WP_LATENCY_LEAST_NS 1024u /* all below is bucket 0 */

/* From 0 to WP_LATENCY_BUCKETS - 1; the last one has all that is longer. */
unsigned wp_latency_bucket(uint64_t ns);
/* The least time in the bucket. */
uint64_t wp_latency_floor(unsigned bucket);

#endif
