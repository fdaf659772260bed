/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_COVER_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_COVER_H
/* A thread's time, walked back slice by slice: its runs by their samples, its sleeps by what ended them, and before its
 * birth its creator's. Private to the explanation. */
#include "aggregator/explain/explain_types.h"

/* [from, to) of the thread's time as a layer on `parent`. */
void wp_explain_cover(struct wp_explainer *x, uint32_t parent, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
/* The same for who knows the slice of the last instant (wp_thread_find). */
void wp_explain_cover_from(
    struct wp_explainer *x, uint32_t parent, uint32_t thread, uint64_t slice, uint64_t from_ns, uint64_t to_ns);

#endif
