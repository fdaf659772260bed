/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_SPURIOUS_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_SPURIOUS_H
/*
 * `while (!what I want) wait()`: a thread is woken for what it does not want, does nothing, and sleeps again at the
 * same place. It still waits, for what ends the last one of these sleeps: a child that runs on, the thread that loads
 * the index. The end of another child, a broadcast to all, a heartbeat in the same pipe, a tick are no ends of it.
 *
 * What ended the last one must have been outstanding since before the first, and have ended none before: a consumer
 * that others feed, and results that come by turns, are waits each for itself. So is a sleep behind which the thread
 * has sent something, or may have. Private to the explanation.
 */
#include "aggregator/explain/explain_loop.h"

#define WP_SPURIOUS_NS 1000000u /* a shorter sleep stands for itself */

/* False, as of most: nothing here looks at it. */
static inline bool wp_explain_may_be_spurious(const struct wp_slice *slice)
{
    bool is_message = slice->cause == WP_CAUSE_MESSAGE && !(slice->cause_a & WP_POSITION_ACKNOWLEDGES);
    return slice->wake_ns >= slice->out_ns + WP_SPURIOUS_NS &&
        (is_message || (slice->cause == WP_CAUSE_TASK && (slice->waker || wp_slice_signal(slice))));
}

/* ENDED: the sleep of this slice was ended for nothing, and `*end` is the one that it went on to. OPEN: that may still
 * come. */
enum wp_loop wp_explain_spurious(struct wp_explainer *x, uint32_t thread, uint64_t slice, struct wp_loop_end *end);
/* The same: may it still come? Asked between explanations. */
bool wp_explain_spurious_pending(struct wp_explainer *x, uint32_t thread, uint64_t slice);

#endif
