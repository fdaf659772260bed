/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_spurious.h"

#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_client.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/explain/explain_queue.h"
#include "aggregator/net/owed.h"
#include "aggregator/timeline/holders.h"
#include "aggregator/timeline/slices.h"

#define TURN_LIMIT                                                                                                     \
    64u /* sleeps of a row: one that is woken more often takes what it is woken                                        \
           for */
#define RUN_LIMIT                                                                                                      \
    10u                 /* a run that is longer than so many that part sleeps, however long the                        \
                           sleep was, is work */
#define WOKEN_LIMIT 32u /* slices of one that may have been woken meanwhile */

/* Numbers of x86-64. */
#define CALL_WAIT4 61
#define CALL_SIGTIMEDWAIT 128
#define CALL_WAITID 247

static bool is_for_children(const struct wp_slice *slice)
{
    return slice->syscall == CALL_WAIT4 + 1 || slice->syscall == CALL_WAITID + 1;
}

/* In a call that a program repeats until it has what it wants. One for a lock
 * that somebody holds, or for a thread to end, has one end. */
static bool is_repeatable(const struct wp_slice *slice)
{
    bool is_call = is_for_children(slice) || slice->syscall == WP_CALL_FUTEX + 1 ||
        slice->syscall == CALL_SIGTIMEDWAIT + 1 || wp_wait_is_reading(slice) || wp_wait_is_choosing(slice);
    return is_call && !wp_slice_holder(slice);
}

/* The task that ended that sleep, and by nothing else; 0: none. */
static uint32_t ended_by(const struct wp_explainer *x, uint32_t index, const struct wp_slice *slice)
{
    const uint8_t others = WP_SLICE_PREEMPTED | WP_SLICE_BORN | WP_SLICE_EXEC | WP_SLICE_RENAME | WP_SLICE_DELIBERATE;
    if (!slice->wake_ns || !slice->in_ns || slice->is_cut || slice->is_inferred || slice->flags & others ||
        slice->state == WP_STATE_UNINTERRUPTIBLE || !is_repeatable(slice))
        return 0;
    uint32_t waker = wp_explain_waker(x, slice);
    bool is_task = waker && waker != index && !wp_explain_is_kernel(x, waker);
    return is_task && !wp_slice_is_interrupted(x->timeline, slice) ? waker : 0;
}

static bool is_same_place(const struct wp_explainer *x, const struct wp_slice *one, const struct wp_slice *other)
{
    const struct wp_dictionary *dictionary = x->timeline->dictionary;
    if (one->syscall != other->syscall || (one->wait != other->wait && !wp_wait_is_choosing(one)))
        return false;
    if (is_for_children(one))
        return !one->stack || !other->stack || wp_explain_is_one_place(dictionary, one->stack, other->stack);
    return one->stack && other->stack && wp_explain_has_own_functions(x, one->stack) &&
        wp_explain_is_one_place(dictionary, one->stack, other->stack);
}

/* Of several wakings of one thread with none of another between, only the last
 * is listed: its own sleeps tell more. */
static bool has_woken(const struct wp_explainer *x, uint32_t index, uint64_t from_ns, uint64_t to_ns)
{
    const struct wp_woken_list *list = wp_woken_by(&x->timeline->woken, index);
    if (!list || (list->ring.first == list->ring.end && !list->last.thread))
        return false;
    uint64_t i = wp_woken_since(list, from_ns);
    const struct wp_woken_one *woken = i < list->ring.end ? wp_woken_at(list, i) : &list->last;
    if (!woken->thread || woken->time_ns < from_ns)
        return false;
    if (woken->time_ns <= to_ns)
        return true;
    const struct wp_thread *thread = &x->timeline->threads[woken->thread];
    uint64_t ordinal = wp_thread_find(thread, to_ns);
    for (uint32_t looks = 0; ordinal != thread->slice_end; ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        if (slice->end_ns && slice->end_ns < from_ns)
            return false;
        if (++looks > WOKEN_LIMIT || (slice->waker == index && slice->wake_ns >= from_ns && slice->wake_ns <= to_ns))
            return true;
        if (ordinal == thread->first_slice)
            return false;
    }
    return false;
}

static bool has_created(const struct wp_explainer *x, uint32_t index, uint64_t from_ns, uint64_t to_ns)
{
    for (uint32_t i = x->timeline->live_count; i-- > 0;) {
        const struct wp_thread *thread = &x->timeline->threads[x->timeline->live[i]];
        if (thread->creator == index && thread->birth_ns >= from_ns && thread->birth_ns <= to_ns)
            return true;
    }
    return false;
}

/* A run that is as long parts two of these sleeps. */
static uint64_t parts_ns(const struct wp_explainer *x, const struct wp_slice *slice)
{
    uint64_t tenth = (slice->wake_ns - slice->out_ns) / 10, join = x->options.join_ns, most = RUN_LIMIT * join;
    return tenth < join ? join : tenth < most ? tenth : most;
}

/* The sleep behind that one; a short one for a lock in between, as for the
 * mutex of a condition, is none. NONE: it has run too long, or there is none.
 */
static enum wp_loop next_sleep(struct wp_explainer *x, uint32_t index, uint64_t ordinal, uint64_t *next)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *before = wp_thread_slice(thread, ordinal), *after;
    uint64_t horizon = wp_explain_horizon(x), parts = parts_ns(x, before), ran = 0;
    for (*next = ordinal;;) {
        ran += wp_explain_ran_until(x, thread, *next, parts, next);
        if (ran >= parts)
            return WP_LOOP_NONE;
        if (*next == thread->slice_end || wp_thread_slice(thread, *next)->out_ns > horizon)
            return wp_thread_is_dead(thread, horizon) ? WP_LOOP_NONE : WP_LOOP_OPEN;
        after = wp_thread_slice(thread, *next);
        if (wp_thread_slice(thread, *next - 1)->end_ns != after->out_ns)
            return WP_LOOP_NONE;
        bool is_lock = after->syscall == WP_CALL_FUTEX + 1 && !is_same_place(x, before, after);
        if (!is_lock || !after->in_ns || after->in_ns > horizon || after->in_ns - before->in_ns >= parts)
            return WP_LOOP_ENDED;
    }
}

/* Does the sleep of that slice, which a task ended, go on with another one?
 * ENDED: with `*next`, whose end is known. */
static enum wp_loop next_turn(struct wp_explainer *x, uint32_t index, uint64_t ordinal, uint64_t *next)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *before = wp_thread_slice(thread, ordinal);
    uint64_t horizon = wp_explain_horizon(x);
    enum wp_loop known = next_sleep(x, index, ordinal, next);
    if (known != WP_LOOP_ENDED)
        return known;
    const struct wp_slice *after = wp_thread_slice(thread, *next);
    const uint8_t others = WP_SLICE_EXEC | WP_SLICE_RENAME | WP_SLICE_DELIBERATE;
    if (after->flags & others || after->is_asking != before->is_asking || !is_same_place(x, before, after) ||
        has_woken(x, index, before->in_ns, after->out_ns) || has_created(x, index, before->in_ns, after->out_ns) ||
        wp_owed_by(&x->timeline->messages, index, before->out_ns) ||
        wp_owed_by(&x->timeline->messages, index, after->out_ns))
        return WP_LOOP_NONE;
    return after->in_ns && after->in_ns <= horizon ? WP_LOOP_ENDED : WP_LOOP_OPEN;
}

/* What ended that sleep had been under way for the thread as the first one began, and has ended none before. */
static bool is_wanted(struct wp_explainer *x, uint32_t index, const struct wp_slice *first, const struct wp_slice *last)
{
    uint32_t waker = ended_by(x, index, last);
    uint64_t latest_ns = first->out_ns + x->options.fit_ns;
    bool is_guess;
    if (!waker || waker == wp_explain_waker(x, first) || wp_explain_is_layer(x, waker))
        return false;
    const struct wp_thread *child = &x->timeline->threads[waker];
    if (is_for_children(last) && child->creator == index && child->birth_ns) /* it ends once */
        return child->birth_ns <= latest_ns;
    uint64_t since_ns = wp_explain_outstanding_since(x, index, last, &is_guess);
    return since_ns && !is_guess && since_ns <= latest_ns && !wp_explain_is_outdated(x, since_ns) &&
        wp_explain_last_woken(x, index, waker, last->wake_ns) < since_ns &&
        !wp_explain_may_be_answered(x, index, last, since_ns);
}

enum wp_loop wp_explain_spurious(struct wp_explainer *x, uint32_t index, uint64_t ordinal, struct wp_loop_end *end)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *first = wp_thread_slice(thread, ordinal);
    uint64_t last = ordinal, next;
    if (!wp_explain_may_be_spurious(first) || !ended_by(x, index, first))
        return WP_LOOP_NONE;
    enum wp_loop turn = WP_LOOP_ENDED;
    for (uint32_t turns = 0; turn == WP_LOOP_ENDED; turns++) {
        if (turns == TURN_LIMIT || !ended_by(x, index, wp_thread_slice(thread, last)))
            return WP_LOOP_NONE;
        turn = next_turn(x, index, last, &next);
        last = turn == WP_LOOP_ENDED ? next : last;
    }
    if (turn == WP_LOOP_OPEN)
        return WP_LOOP_OPEN;
    const struct wp_slice *slice = wp_thread_slice(thread, last);
    if (last == ordinal || !is_wanted(x, index, first, slice))
        return WP_LOOP_NONE;
    *end = (struct wp_loop_end){.ordinal = last, .slice = *slice};
    return WP_LOOP_ENDED;
}

bool wp_explain_spurious_pending(struct wp_explainer *x, uint32_t index, uint64_t ordinal)
{
    const struct wp_slice *slice = wp_thread_slice(&x->timeline->threads[index], ordinal);
    struct wp_loop_end end;
    if (!wp_explain_may_be_spurious(slice))
        return false;
    x->oldest_ns = slice->in_ns > x->options.origin_ns ? slice->in_ns - x->options.origin_ns : 0;
    return wp_explain_spurious(x, index, ordinal, &end) == WP_LOOP_OPEN;
}
