/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_FINDINGS_H
#define WP_REPORTER_COMPARE_COMPARE_FINDINGS_H
/* What a comparison says in plain sentences. */
#include "reporter/compare/compare.h"

/* "make › cc1 waits for the disk 31 % longer: 410 ms in a second of wall time instead of 313 ms (p < 0.001)." */
const char *wp_compare_sentence(struct wp_pool *pool, const struct wp_compare *compare, const struct wp_change *change);
/* The changes to open with: what is worse, then what is better; of each the whole, then hops, and where no hop alone is
 * sure, processes and categories. Returns how many (at most `room`). The first is worse when the comparison is. */
size_t wp_compare_first(const struct wp_compare *compare, const struct wp_change **first, size_t room);
/* One sentence for all of it. */
const char *wp_compare_summary(struct wp_pool *pool, const struct wp_compare *compare);
/* "+31 %", "−4.0 %", "2.4 ×", "new", "gone" */
const char *wp_change_percent(struct wp_pool *pool, const struct wp_change *change);
/* The same for any method: p of the t test, else what the method calls confidence. */
const char *wp_change_confidence(
    struct wp_pool *pool, const struct wp_compare *compare, const struct wp_change *change);
/* A rate of that row as people read it: time, or requests a second. */
const char *wp_change_value(struct wp_pool *pool, const struct wp_change *change, double value);

#endif
