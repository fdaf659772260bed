/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_ORIGIN_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_ORIGIN_H
/*
 * Whose work is it? What set a thread's activity going is found by following causes backwards: the waking, the birth,
 * the message or the block request that began it, then what had set that one going, on the host where it is. Clocks
 * decide only where no cause is known. Private to the explanation.
 */
#include "aggregator/explain/explain_sink.h"

struct wp_explainer;
struct wp_slice;

/* Where a search for causes led. */
enum wp_origin {
    WP_ORIGIN_NOT_KNOWN, /* the chain ends in what was not recorded, or is older than half of what is kept */
    WP_ORIGIN_PATH,      /* it leads to a thread that is being explained: the work is done on its behalf */
    WP_ORIGIN_OTHER,     /* it leads elsewhere */
};

/* Who set an activity going; `thread` and `at_ns` are the present host's. */
struct wp_handover {
    enum wp_origin origin;
    uint32_t thread; /* PATH: who set it going. OTHER: the first thread of the chain, kernel threads aside; 0: none */
    uint64_t at_ns;  /* PATH: when it did */
};

/* What set going the activity of `thread`, of the present host, at `at_ns`: is it one of the layers? At most
 * `WP_ORIGIN_LINKS` changes of thread are followed. */
#define WP_ORIGIN_LINKS 64u
/* Causes before wp_explain_oldest() are not followed. While a slice is recorded for others it also notes what the
 * answer depends on (explain_shared.h). */
struct wp_handover wp_explain_origin(
    const struct wp_explainer *x, const struct wp_layer *layers, uint32_t layer_count, uint32_t thread, uint64_t at_ns);
/* Of the waking that ended this sleep of a thread of home: does what its waker did lead to the sleeper? Asked between
 * explanations. *oldest_ns: what is older does not count. */
enum wp_origin wp_explain_waking(
    struct wp_explainer *x, uint32_t thread, const struct wp_slice *slice, uint64_t *oldest_ns);

#endif
