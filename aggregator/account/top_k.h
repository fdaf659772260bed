/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_TOP_K_H
#define WP_AGGREGATOR_ACCOUNT_TOP_K_H
/*
 * The longest so many of a number of rows: all lengths are gone through first, then the rows are asked for one by one
 * in the same order. Of rows of just the least length that is kept the first ones are.
 */
#include <stdbool.h>
#include <stdint.h>

/* Zeroed: nothing was added. */
struct wp_top_k {
    uint64_t *lengths; /* owned */
    uint32_t count, room;
    bool has_failed; /* no memory: all are kept, as far as there is room for them */
    uint64_t least;  /* longer ones are kept */
    uint32_t ties;   /* and so many more of just that length */
};

/* One row more of that length; before wp_top_k_choose(). Out of memory: has_failed is set. */
void wp_top_k_add(struct wp_top_k *top, uint64_t length);
/* From here on wp_top_k_has answers for the longest `limit` of what was added. May be called again with another
 * limit. */
void wp_top_k_choose(struct wp_top_k *top, uint32_t limit);
/* Whether the next row is one of them. Of nothing that was chosen: always. */
bool wp_top_k_has(struct wp_top_k *top, uint64_t length);
/* Frees the lengths and zeroes the struct; zeroed is allowed. */
void wp_top_k_fini(struct wp_top_k *top);

#endif
