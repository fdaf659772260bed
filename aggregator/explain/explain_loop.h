/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_LOOP_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_LOOP_H
/*
 * Sleeps that time out again and again: `while (!done) poll(timeout)`, an event loop with a timer. All of them wait for
 * what finally ends the loop, provided that the thread had it outstanding: a request without an answer, work handed to
 * another thread, a child. Without that the paper's rule joins sleeps that hardly anything parts. Private to the
 * explanation, but wp_explain_pending() and wp_explain_is_one_place().
 *
 * Somebody waits for the thread, and requests of others end its sleeps meanwhile: those go on as well, for what it had
 * outstanding. What it asked for last is not what those others did.
 */
#include "aggregator/timeline/timeline_types.h"

struct wp_explainer;

/* What is known of the end of a loop of sleeps. */
enum wp_loop {
    WP_LOOP_NONE,  /* the sleep stands for itself */
    WP_LOOP_ENDED, /* what ended it is known */
    WP_LOOP_OPEN,  /* what ends it may still come */
};

/* False, as of most: whatever ended the sleep, it is none of a loop, and nothing here looks at it further. */
static inline bool wp_explain_may_go_on(const struct wp_slice *slice)
{
    return slice->cause == WP_CAUSE_TIMER ||
        (slice->cause == WP_CAUSE_MESSAGE && slice->cause_a & WP_POSITION_ACKNOWLEDGES);
}

/* How a loop of sleeps ended. */
struct wp_loop_end {
    uint64_t ordinal; /* the sleep that was ended so; is_awake: the first one behind it */
    struct wp_slice
        slice; /* that sleep; is_awake: one that the answer would have ended, had it not come while the thread ran */
    bool is_awake;
    bool is_guess; /* it is not known when the thread asked for it, but that whom it asks had no time for it before */
};

/* For what the sleep of this slice went on, which timed out or which wp_wait_is_for_others(): what came first of an
 * end, by something that the thread had set going or asked for before this one began, of a sleep behind it in the same
 * call, and the read of an answer to what it had asked for before. `*end` is set with ENDED. */
enum wp_loop wp_explain_loop(struct wp_explainer *x, uint32_t thread, uint64_t slice, struct wp_loop_end *end);

/* The paper's rule: the start of the first, and the last, of the sleeps that are joined with this one. */
uint64_t wp_explain_defacto_start(struct wp_explainer *x, const struct wp_thread *thread, uint64_t slice);
/* An ordinal; `slice` itself when none behind it is joined. Looks no further than the host's horizon. */
uint64_t wp_explain_join_end(struct wp_explainer *x, const struct wp_thread *thread, uint64_t slice);
/* This one timed out, and the same sleep follows after a run that is longer than what still joins them, but not three
 * times as long. */
bool wp_explain_is_parted(const struct wp_explainer *x, const struct wp_thread *thread, uint64_t slice);
/* True when this sleep timed out, and what the thread waited for may still end a later sleep of the same loop; or when
 * a new request ended it while an answer was owed, which has not left. */
bool wp_explain_pending(struct wp_explainer *explainer, uint32_t thread, uint64_t slice);

/* Since when the thread has had outstanding what ended that sleep; 0: it had not asked for it. *is_guess: at that time
 * at the earliest. */
uint64_t wp_explain_outstanding_since(
    struct wp_explainer *x, uint32_t thread, const struct wp_slice *end, bool *is_guess);
/* It had been outstanding since before what counts. What was sent last on a connection is kept however old it is, and
 * counts always. */
bool wp_explain_is_outdated(const struct wp_explainer *x, uint64_t since_ns);
/* Who ended that sleep has answered another one since the thread set it going, by a way of which no writes are
 * recorded. */
bool wp_explain_may_be_answered(struct wp_explainer *x, uint32_t thread, const struct wp_slice *end, uint64_t since_ns);
/* What the thread ran from that sleep on, parted by nothing but preemption; no more is counted than is enough. `*after`
 * is the first slice behind it that is not seen yet at the horizon or no preemption. */
uint64_t wp_explain_ran_until(
    const struct wp_explainer *x, const struct wp_thread *thread, uint64_t slice, uint64_t enough_ns, uint64_t *after);

/* Whether two stacks are one, or a walk that ended early found the innermost functions of the other one. */
bool wp_explain_is_one_place(const struct wp_dictionary *dictionary, uint32_t one, uint32_t other);

#endif
