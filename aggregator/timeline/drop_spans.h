/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_TIMELINE_DROP_SPANS_H
#define WP_AGGREGATOR_TIMELINE_DROP_SPANS_H
/*
 * The intervals of a session's time in which events were lost, of whatever kind and processor: sorted, without overlap,
 * so that time which several losses touch is uncertain once. Bounded: when there are too many, the gap between two
 * neighbours is given up, and too much is uncertain rather than too little.
 */
#include <stdint.h>

#define WP_DROP_SPANS 4096u

/* One interval, in the session's time. */
struct wp_drop_span {
    uint64_t from_ns, to_ns; /* [from, to) */
};

/* Zeroed: none. */
struct wp_drop_spans {
    struct wp_drop_span *rows; /* owned */
    uint32_t count, room;
};

/* Frees the rows and zeroes the struct; zeroed is allowed. */
void wp_drop_spans_fini(struct wp_drop_spans *spans);
/* Something was lost in [from, to], which may be one instant. */
void wp_drop_spans_add(struct wp_drop_spans *spans, uint64_t from_ns, uint64_t to_ns);
/* How much of [start, end) is in them. */
uint64_t wp_drop_spans_overlap(const struct wp_drop_spans *spans, uint64_t start_ns, uint64_t end_ns);
/* How many begin in [start, end). */
uint64_t wp_drop_spans_begun(const struct wp_drop_spans *spans, uint64_t start_ns, uint64_t end_ns);
/* Forgets those that end before the horizon. */
void wp_drop_spans_forget(struct wp_drop_spans *spans, uint64_t horizon_ns);

#endif
