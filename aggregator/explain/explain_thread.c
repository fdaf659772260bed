/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_thread.h"

#include "aggregator/explain/explain_origin.h"
#include "aggregator/explain/explain_path.h"
#include "aggregator/explain/explain_piece.h"
#include "aggregator/explain/explain_shared.h"
#include "aggregator/timeline/slices.h"

#define RELAY_UNKNOWN                                                                                                  \
    8u /* without stacks a call is no place: only where so many wait for each other is it taken to be one */

/* Where the waker's activity in that slice began: its run, with the runs before it that preemption alone parts. */
static const struct wp_slice *burst(const struct wp_thread *thread, uint64_t ordinal)
{
    if (ordinal == thread->slice_end)
        return NULL;
    for (; ordinal > thread->first_slice; ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        const struct wp_slice *before = wp_thread_slice(thread, ordinal - 1);
        if (!(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_RENAME)) || before->end_ns != slice->out_ns)
            break;
    }
    return wp_thread_slice(thread, ordinal);
}

/*
 * Whose work is what the waker did up to `at_ns`? The paper's rule comes first: what began no more than fit_ns before
 * the sleep's de facto start is the sleeper's. Of what began earlier the causes decide.
 */
static __attribute__((noinline)) struct wp_handover origin_of(
    const struct wp_explainer *x, const struct wp_wait *wait, uint32_t waker, uint64_t ordinal, uint64_t at_ns)
{
    const struct wp_slice *first = burst(&x->timeline->threads[waker], ordinal);
    if (!first || first->in_ns + x->options.fit_ns + wait->bound_ns >= wait->start_ns)
        return (struct wp_handover){.origin = WP_ORIGIN_PATH};
    return wp_explain_origin(x, x->layers, x->depth, waker, at_ns);
}

/*
 * A thread waits for one of its own process that waits in the same place, for `waker`: a queue for one lock, a token
 * that goes round. All that the first one waits for stand above it side by side, not each on top of the other. True:
 * all that is left before `to` of the first one's sleep will be covered so.
 */
static __attribute__((noinline)) bool relays(struct wp_explainer *x, uint32_t waker, uint64_t slice, uint64_t to)
{
    uint32_t top = x->depth - 1, first = x->depth;
    if (x->depth < 2 || !x->asleep[top].site || (!(x->asleep[top].site >> 32) && x->depth < RELAY_UNKNOWN) ||
        x->layers[top].host != x->host || !waker ||
        x->layers[top].process != x->timeline->identities[x->timeline->threads[waker].identity].process)
        return false;
    for (uint32_t i = top; i > 0 && x->asleep[i - 1].site && x->layers[i - 1].host == x->host &&
         x->layers[i - 1].process == x->layers[top].process;
         i--) {
        if (x->asleep[i - 1].site == x->asleep[top].site)
            first = i;
        if (x->recording && i - 1 < x->recording_depth) /* others who wait for it may wait elsewhere */
            wp_shared_refuse(x, false);
    }
    uint32_t repeats = x->relay.to_ns == to ? x->relay.repeats + 1 : 0;
    if (first == x->depth || x->asleep[first].doubts != x->doubts || repeats > x->options.depth)
        return false;
    x->relay = (struct wp_relay){true, first, waker, repeats, slice, to};
    return true;
}

/*
 * What ended a loop is the work of one that waits below, and so was asleep all that time: two that look after each
 * other with a timeout. Neither waits for the other then, but each for its timer. False: it is no such thread's.
 */
static bool leads_back(struct wp_explainer *x, const struct wp_wait *wait, const struct wp_wait_part *part)
{
    bool is_below = false;
    if (!wait->is_joined)
        return false;
    for (uint32_t i = x->depth; i-- > 0 && !is_below;)
        is_below = x->layers[i].host == x->host && x->layers[i].thread == part->waker;
    if (x->recording && !is_below) /* nor may it be of those for whom that is repeated */
        wp_shared_met(x, part->waker);
    if (x->recording && is_below && wp_shared_is_below(x, part->waker))
        wp_shared_refuse(x, true);
    if (!is_below)
        return false;
    wp_explain_emit(x,
        &(struct wp_piece){.node = part->node,
            .thread = part->waker,
            .category = wait->alone,
            .start_ns = part->from_ns,
            .end_ns = part->to_ns,
            .reason = wait->alone == WP_UNACCOUNTED ? "those who wait, wait for each other" : NULL,
            .is_uncertain = wait->slice->flags & WP_SLICE_UNCERTAIN || wait->slice->is_inferred});
    return true;
}

/* Nothing of that slice is behind that: it is not cut there. */
static bool is_whole(const struct wp_thread *thread, uint64_t ordinal, uint64_t to_ns)
{
    const struct wp_slice *slice = ordinal == thread->slice_end ? NULL : wp_thread_slice(thread, ordinal);
    return slice && slice->end_ns && slice->end_ns <= to_ns;
}

void wp_wait_on_thread(struct wp_explainer *x, const struct wp_wait *wait, const struct wp_wait_part *part)
{
    uint32_t waker = part->waker;
    uint64_t from = part->from_ns, to = part->to_ns;
    if (from >= to || leads_back(x, wait, part))
        return;
    if (x->depth >= x->options.depth) {
        wp_explain_limit(x, WP_LIMIT_DEPTH, 1, to - from);
        wp_explain_taken(x, waker, from, to);
        wp_wait_unaccounted(x, wait, part->node, from, to, "the explanation grew too deep");
        return;
    }
    uint32_t identity = wp_explain_identity_at(x, waker, to - 1);
    if (waker && wp_explain_is_of_interest(x, identity)) {
        wp_explain_on_path_of(x, part->node, &(struct wp_interval){x->host, waker, from, to}, identity,
            &(struct wp_handover){.origin = WP_ORIGIN_OTHER});
        return;
    }
    uint64_t ordinal = wp_thread_find(&x->timeline->threads[waker], to - 1);
    struct wp_handover by = {.origin = WP_ORIGIN_PATH};
    if ((wait->is_far || !wp_explain_is_mate(x, identity)) && !part->on_behalf && !wait->is_outstanding &&
        !wp_is_recorder(x->timeline, identity))
        by = origin_of(x, wait, waker, ordinal, to);
    if (by.origin == WP_ORIGIN_PATH && relays(x, waker, ordinal, to))
        return;
    uint64_t parted_ns = x->parted_ns;
    if (parted_ns && is_whole(&x->timeline->threads[waker], ordinal, to))
        x->parted_ns = 0;
    if (by.origin == WP_ORIGIN_PATH)
        x->cover(x, part->node, waker, ordinal, from, to);
    else
        wp_explain_on_path_of(x, part->node, &(struct wp_interval){x->host, waker, from, to}, identity, &by);
    x->parted_ns = parted_ns;
}
