/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_TURN_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_TURN_H
/*
 * Unix streams: who wrote the answer that ended a sleep had read the request at some time, and others' before that.
 * What is known of these reads says when it turned to the sleeper. Private to the explanation.
 */
#include "aggregator/explain/explain_types.h"

/* [from, to) of `server`, which ended that sleep by a write to the sleeper's connection: queue up to when it turned to
 * that one. False: it is not known to have read there in that time, or on others before. */
bool wp_wait_in_turn(
    struct wp_explainer *x, const struct wp_wait *wait, uint32_t server, uint64_t from_ns, uint64_t to_ns);
/* Since when what `server` answered by that waking was asked for by the thread, which woke nobody as it asked; 0: not
 * known. */
uint64_t wp_explain_turn_asked(const struct wp_explainer *x, uint32_t thread, const struct wp_slice *end);

#endif
