/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_LATEST_H
#define WP_STORAGE_KIND_LATEST_H
/*
 * Which of too many rows of processes stay. Of processes that are started for ever the latest of each kind do, as many
 * of every kind: what runs for long is one of few. Where kinds themselves are too many, the latest of all.
 */
#include <stdbool.h>
#include <stdint.h>

struct wp_latest {
    const void *rows; /* what the functions below look into, borrowed */
    uint32_t count;
    uint32_t limit; /* so many at most */
    int (*compare_kinds)(const void *rows, uint32_t a, uint32_t b);
    uint64_t (*start_ns)(const void *rows, uint32_t row);
};

/* Sets is_chosen[i] for each row. -ENOMEM. */
int wp_latest_choose(const struct wp_latest *latest, bool *is_chosen);

#endif
