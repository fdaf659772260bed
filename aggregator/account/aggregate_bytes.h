/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_AGGREGATE_BYTES_H
#define WP_AGGREGATOR_ACCOUNT_AGGREGATE_BYTES_H
/* What an aggregate holds of memory, by what for. */
#include <stdint.h>

struct wp_aggregate;

struct wp_aggregate_bytes {
    uint64_t tree;    /* of pseudo-stacks */
    uint64_t sites;   /* what its explainer remembers */
    uint64_t reports; /* of the delta, closed ones included */
    uint64_t windows; /* that are kept whole: few, and each is bounded */
    uint64_t base;    /* base threads */
    uint64_t account; /* by thread, process and node of the tree: a host says how many there are of these */
};

/* Adds its bytes to *bytes. */
void wp_aggregate_bytes_add(struct wp_aggregate_bytes *bytes, const struct wp_aggregate *aggregate);
/* Each byte once. */
uint64_t wp_aggregate_bytes_sum(const struct wp_aggregate_bytes *bytes);

#endif
