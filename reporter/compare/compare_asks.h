/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_ASKS_H
#define WP_REPORTER_COMPARE_COMPARE_ASKS_H
/*
 * What a process asks a peer for each request that it serves, where both sides serve a hundred or more: told where one
 * side asks, or opens connections, twice as often as the other or more. Counts explain a change and are no verdict: how
 * they differ from one recording to the next is not kept.
 */
#include "reporter/compare/compare_types.h"

#define WP_COMPARE_ASKS 2u

/* Sentences in the pool, the largest difference first; how many. */
size_t wp_compare_asks(struct wp_pool *pool, const struct wp_compare *compare, const char *sentences[WP_COMPARE_ASKS]);

#endif
