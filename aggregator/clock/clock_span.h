/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_CLOCK_CLOCK_SPAN_H
#define WP_AGGREGATOR_CLOCK_CLOCK_SPAN_H
/*
 * The offset between two hosts as lines with a bound, for the store and for people.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_clock_sight;

/* An interval in which the offset of a node to a reference stays within `bound_ns` of a line. */
struct wp_clock_span {
    uint64_t from_ns, to_ns; /* node's clock */
    int64_t offset_ns;       /* reference's time - node's time, at from_ns */
    int64_t drift_ppb;       /* how the offset grows: ns a second */
    uint64_t bound_ns;
    bool is_settled; /* by constraints on both sides; at the ends of what is known one side has to do */
};
/* As wp_clocks_spans. */
size_t wp_clock_spans_make(
    const struct wp_clock_sight *sight, uint64_t from_ns, uint64_t to_ns, struct wp_clock_span *spans, size_t room);

#endif
