/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_OWED_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_OWED_H
/*
 * An event loop that owes an answer sleeps, and a new request of another client ends the sleep. That is not what the
 * answer waits for: its client has done nothing for it. What lets the answer go is what ends the sleep before that: a
 * timer, what was asked for later, or a request that is what the answered one waited for. Private to the explanation.
 */
#include "aggregator/timeline/timeline_types.h"

struct wp_explainer;

enum wp_owing {
    WP_OWING_NOTHING, /* no such sleep, or the request that ended it let the answer go */
    WP_OWING_OPEN,    /* the answer has not left by the horizon */
    WP_OWING_KNOWN,   /* what let the answer go ended a later sleep */
    WP_OWING_UNKNOWN, /* the answer has left, for what is not known */
};

struct wp_owing_end {
    struct wp_slice slice; /* KNOWN: the sleep that what let the answer go ended */
    uint64_t sent_ns;      /* when the answer left; 0 with NOTHING and OPEN */
};

/* What the thread's sleep of that slice went on for. */
enum wp_owing wp_explain_owing(
    const struct wp_explainer *x, uint32_t thread, const struct wp_slice *slice, struct wp_owing_end *end);

/* The thread owed an answer in the sleep of `before`, and a new request ended that of `after`, behind it, which did not
 * let the answer go: what ended one is not what the other waited for. */
bool wp_explain_owing_parts(
    const struct wp_explainer *x, uint32_t thread, const struct wp_slice *before, const struct wp_slice *after);

#endif
