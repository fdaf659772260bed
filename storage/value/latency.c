/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/value/latency.h"

#define LEAST_BITS 10u /* of WP_LATENCY_LEAST_NS */
#define PART_BITS 3u

unsigned wp_latency_bucket(uint64_t ns)
{
    if (ns < WP_LATENCY_LEAST_NS)
        return 0;
    unsigned top = 63u - (unsigned)__builtin_clzll(ns);
    unsigned part = (unsigned)(ns >> (top - PART_BITS)) & ((1u << PART_BITS) - 1);
    unsigned bucket = 1 + ((top - LEAST_BITS) << PART_BITS) + part;
    return bucket < WP_LATENCY_BUCKETS ? bucket : WP_LATENCY_BUCKETS - 1;
}

uint64_t wp_latency_floor(unsigned bucket)
{
    if (!bucket)
        return 0;
    unsigned top = LEAST_BITS + ((bucket - 1) >> PART_BITS), part = (bucket - 1) & ((1u << PART_BITS) - 1);
    return ((uint64_t)(1u << PART_BITS) + part) << (top - PART_BITS);
}
