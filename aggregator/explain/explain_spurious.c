/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_spurious.h"

#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_client.h"
#include "aggregator/explain/explain_lock.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/explain/explain_queue.h"
#include "aggregator/net/message_datagrams.h"
#include "aggregator/net/owed.h"
#include "aggregator/timeline/holders.h"
#include "aggregator/timeline/slices.h"

#define ROW_LIMIT 256u  /* slices of a row: a thread that is woken more often takes what it is woken for */
#define RUN_LIMIT 10u   /* a run that is longer than so many that part sleeps, however long the sleep was, is work */
#define LOCK_LIMIT 8u   /* sleeps for locks between two of a row */
#define WOKEN_LIMIT 32u /* slices of one that may have been woken meanwhile */
#define OTHERS_LIMIT 8u /* ends by others since its own before: those are heartbeats beside it, as it seems */

/* Numbers of x86-64. */
enum { CALL_WAIT4 = 61, CALL_SIGTIMEDWAIT = 128, CALL_WAITID = 247 };

/* --- the sleeps --- */

static bool is_for_children(const struct wp_slice *slice)
{
    return slice->syscall == CALL_WAIT4 + 1 || slice->syscall == CALL_WAITID + 1;
}

/* In a call that a program repeats until it has what it wants. One for a lock that somebody holds, or for a thread to
 * end, has one end. Who does not tell for which file it is does not tell all that is sent, either (perf). */
static bool is_repeatable(struct wp_explainer *x, const struct wp_slice *slice)
{
    if (slice->syscall == WP_CALL_FUTEX + 1)
        return !wp_slice_holder(slice) && !wp_explain_is_lock(x, slice);
    bool is_of_files = wp_wait_is_reading(slice) || wp_wait_is_choosing(slice);
    return is_for_children(slice) || slice->syscall == CALL_SIGTIMEDWAIT + 1 ||
        (is_of_files && (slice->wait || slice->cause == WP_CAUSE_MESSAGE));
}

/* What ended a sleep, and nothing else did; thread 0: a timer, or its signal. */
struct end {
    uint32_t thread, socket;
};

/* Something that says nothing of another wait ended it: a task, a timer, what came on a socket that is read. */
static bool may_go_on(struct wp_explainer *x, uint32_t index, const struct wp_slice *slice)
{
    const uint8_t others = WP_SLICE_PREEMPTED | WP_SLICE_BORN | WP_SLICE_EXEC | WP_SLICE_RENAME | WP_SLICE_DELIBERATE;
    if (!slice->wake_ns || !slice->in_ns || slice->is_cut || slice->is_inferred || slice->flags & others ||
        slice->state == WP_STATE_UNINTERRUPTIBLE || !is_repeatable(x, slice) ||
        wp_slice_is_interrupted(x->timeline, slice))
        return false;
    if (slice->cause == WP_CAUSE_MESSAGE)
        return wp_wait_is_reading(slice) && !(slice->cause_a & WP_POSITION_ACKNOWLEDGES);
    if (slice->cause == WP_CAUSE_TASK && slice->waker)
        return slice->waker != index && !wp_explain_is_kernel(x, slice->waker);
    return slice->cause == WP_CAUSE_TIMER || wp_slice_signal(slice);
}

/* False: it is not known who did, or on another host. */
static bool find_end(struct wp_explainer *x, uint32_t index, const struct wp_slice *slice, struct end *end)
{
    struct wp_send sent;
    if (!may_go_on(x, index, slice))
        return false;
    *end = (struct end){slice->cause == WP_CAUSE_TASK ? slice->waker : 0, 0};
    if (slice->cause != WP_CAUSE_MESSAGE)
        return true;
    if (wp_messages_match(&x->timeline->messages, slice->cause_d, slice->cause_a, slice->wake_ns, &sent) !=
            WP_MATCH_FOUND ||
        sent.time_ns > wp_explain_horizon(x))
        return false;
    *end = (struct end){sent.thread, slice->cause_d};
    return sent.thread && sent.thread != index;
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

/* --- the run between two of them --- */

/* That waking tells nobody anything: it gives back a lock, as that of a condition, or an interrupt let the kernel work.
 */
static bool is_idle_waking(struct wp_explainer *x, const struct wp_slice *slice)
{
    bool is_kernel = wp_is_kernel_thread(x->timeline, slice->identity) && slice->flags & WP_SLICE_IN_IRQ;
    return is_kernel || wp_explain_is_lock(x, slice);
}

/* Has the thread woken that one then, for more than a lock? */
static bool has_woken_one(struct wp_explainer *x, uint32_t index, uint32_t woken, const struct wp_interval *run)
{
    const struct wp_thread *thread = &x->timeline->threads[woken];
    uint64_t ordinal = wp_thread_find(thread, run->end_ns + WP_EARLY_WAKING_NS);
    for (uint32_t looks = 0; ordinal != thread->slice_end; ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        if (slice->end_ns && slice->end_ns < run->start_ns)
            return false;
        bool is_meanwhile = slice->waker == index && slice->wake_ns >= run->start_ns && slice->wake_ns <= run->end_ns;
        if (++looks > WOKEN_LIMIT || (is_meanwhile && !is_idle_waking(x, slice)))
            return true;
        if (ordinal == thread->first_slice)
            return false;
    }
    return false;
}

/* Of several wakings of one thread with none of another between, only the last is listed: its own sleeps tell more. */
static bool has_woken(struct wp_explainer *x, uint32_t index, const struct wp_interval *run)
{
    const struct wp_woken_list *list = wp_woken_by(&x->timeline->woken, index);
    if (!list)
        return false;
    for (uint64_t i = wp_woken_since(list, run->start_ns);; i++) {
        const struct wp_woken_one *woken = i < list->ring.end ? wp_woken_at(list, i) : &list->last;
        if (woken->thread && woken->time_ns >= run->start_ns && has_woken_one(x, index, woken->thread, run))
            return true;
        if (i >= list->ring.end || woken->time_ns > run->end_ns)
            return false;
    }
}

static bool has_created(const struct wp_explainer *x, uint32_t index, const struct wp_interval *run)
{
    uint32_t i = x->timeline->threads[index].forked_ns < run->start_ns ? 0 : x->timeline->live_count;
    while (i-- > 0) {
        const struct wp_thread *thread = &x->timeline->threads[x->timeline->live[i]];
        if (thread->creator == index && thread->birth_ns >= run->start_ns && thread->birth_ns <= run->end_ns)
            return true;
        if (thread->birth_ns && thread->birth_ns < run->start_ns) /* as all before it */
            return false;
    }
    return false;
}

/* Or may it have: of who answers others over streams, sends are not known by thread. */
static bool has_sent(const struct wp_explainer *x, uint32_t index, const struct wp_interval *run)
{
    const struct wp_messages *messages = &x->timeline->messages;
    struct wp_turn written;
    if (wp_owed_over_streams(messages, index, run->end_ns) ||
        (wp_turns_last_written(&messages->turns, index, run->end_ns, &written) && written.time_ns >= run->start_ns) ||
        wp_messages_datagrams_of(messages, index, run->start_ns, run->end_ns))
        return true;
    struct wp_acts_back back = wp_acts_before(&messages->acts, index, run->end_ns + 1);
    const struct wp_act *act;
    while ((act = wp_acts_next(&back)) && act->time_ns >= run->start_ns)
        if (!wp_act_is_read(act))
            return true;
    return false;
}

/* --- the row --- */

/* A run that is as long parts two of these sleeps. */
static uint64_t parts_ns(const struct wp_explainer *x, const struct wp_slice *slice)
{
    uint64_t tenth = (slice->wake_ns - slice->out_ns) / 10, join = x->options.join_ns, most = RUN_LIMIT * join;
    return tenth < join ? join : tenth < most ? tenth : most;
}

/* For a lock, as the mutex of a condition; a short one on a futex may be one. */
static bool is_for_lock(struct wp_explainer *x, const struct wp_slice *before, const struct wp_slice *slice)
{
    bool is_other = slice->syscall == WP_CALL_FUTEX + 1 && slice->in_ns && slice->in_ns <= wp_explain_horizon(x) &&
        !is_same_place(x, before, slice);
    return is_other &&
        (slice->in_ns - slice->out_ns < parts_ns(x, before) || wp_slice_holder(slice) || wp_explain_is_lock(x, slice));
}

/* The sleep behind that one, those for locks left out. NONE: it has run too long, or there is none. */
static enum wp_loop next_sleep(struct wp_explainer *x, uint32_t index, uint64_t ordinal, uint64_t *next)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *before = wp_thread_slice(thread, ordinal), *after;
    uint64_t horizon = wp_explain_horizon(x), parts = parts_ns(x, before), ran = 0;
    *next = ordinal;
    for (uint32_t locks = 0; locks <= LOCK_LIMIT; locks++) {
        ran += wp_explain_ran_until(x, thread, *next, parts, next);
        if (ran >= parts)
            return WP_LOOP_NONE;
        if (*next == thread->slice_end || wp_thread_slice(thread, *next)->out_ns > horizon)
            return wp_thread_is_dead(thread, horizon) ? WP_LOOP_NONE : WP_LOOP_OPEN;
        after = wp_thread_slice(thread, *next);
        if (wp_thread_slice(thread, *next - 1)->end_ns != after->out_ns)
            return WP_LOOP_NONE;
        if (!is_for_lock(x, before, after))
            return WP_LOOP_ENDED;
    }
    return WP_LOOP_NONE;
}

/* Does the sleep of that slice go on with another one? ENDED: with `*next`, whose end is known. */
static enum wp_loop next_turn(struct wp_explainer *x, uint32_t index, uint64_t ordinal, uint64_t *next)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *before = wp_thread_slice(thread, ordinal);
    enum wp_loop known = next_sleep(x, index, ordinal, next);
    if (known != WP_LOOP_ENDED)
        return known;
    const struct wp_slice *after = wp_thread_slice(thread, *next);
    const struct wp_interval run = {x->host, index, before->in_ns, after->out_ns};
    const uint8_t others = WP_SLICE_EXEC | WP_SLICE_RENAME | WP_SLICE_DELIBERATE;
    if (after->flags & others || after->is_asking != before->is_asking || !is_same_place(x, before, after) ||
        has_woken(x, index, &run) || has_sent(x, index, &run) || has_created(x, index, &run))
        return WP_LOOP_NONE;
    return after->in_ns && after->in_ns <= wp_explain_horizon(x) ? WP_LOOP_ENDED : WP_LOOP_OPEN;
}

/* What is known of the row that the sleep of that slice is of; NULL: nothing. */
static struct wp_row_cache *known_row(struct wp_explainer *x, uint32_t index, uint64_t ordinal)
{
    struct wp_row_cache *row = &x->rows[index % WP_LOOP_CACHE];
    bool is_near = row->thread == index && row->first <= ordinal && ordinal <= row->last && row->host == x->host &&
        row->leaves == x->fleet->leaves;
    const struct wp_thread *thread = &x->timeline->threads[index];
    bool is_known = is_near &&
        (ordinal == row->last ||
            is_same_place(x, wp_thread_slice(thread, ordinal), wp_thread_slice(thread, row->last)));
    return is_known ? row : NULL;
}

/* The last sleep of the row that the sleep of that slice is of; ENDED: it is another one. The sleeps of a row are asked
 * about one after the other: how far it goes is found once. */
static enum wp_loop find_last(struct wp_explainer *x, uint32_t index, uint64_t ordinal, uint64_t *last)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    struct wp_row_cache *row = known_row(x, index, ordinal);
    enum wp_loop turn = WP_LOOP_ENDED;
    if (!row) {
        row = &x->rows[index % WP_LOOP_CACHE];
        *row = (struct wp_row_cache){x->host, index, x->fleet->leaves, ordinal, ordinal, false};
    }
    while (!row->is_over && turn == WP_LOOP_ENDED && row->last - ordinal < ROW_LIMIT) {
        uint64_t next;
        turn = may_go_on(x, index, wp_thread_slice(thread, row->last)) ? next_turn(x, index, row->last, &next)
                                                                       : WP_LOOP_NONE;
        row->last = turn == WP_LOOP_ENDED ? next : row->last;
        row->is_over = turn == WP_LOOP_NONE;
    }
    *last = row->last;
    if (turn == WP_LOOP_OPEN)
        return WP_LOOP_OPEN;
    return row->is_over && *last != ordinal && *last - ordinal < ROW_LIMIT ? WP_LOOP_ENDED : WP_LOOP_NONE;
}

/* --- what it was all for --- */

/* The sleep at that place which the same one ended last before that one, and how many others ended since. */
struct ended {
    uint64_t ordinal, in_ns; /* in_ns 0: none is known */
    uint32_t others;
};

static struct ended ended_before(struct wp_explainer *x, uint32_t index, uint64_t last, const struct end *end)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *slice = wp_thread_slice(thread, last);
    struct end by;
    uint32_t others = 0;
    for (uint64_t i = last; i-- > thread->first_slice && last - i < ROW_LIMIT;) {
        const struct wp_slice *before = wp_thread_slice(thread, i);
        if (!is_same_place(x, slice, before))
            continue;
        bool may_be = before->waker == end->thread || before->cause == WP_CAUSE_MESSAGE;
        if (may_be && find_end(x, index, before, &by) && by.thread == end->thread)
            return (struct ended){i, before->in_ns, others};
        others++;
    }
    return (struct ended){0, 0, others};
}

/* What ended the last sleep had been under way for the thread as the first one began, and has ended none before.
 * *is_guess: it has, and all that came since was of others. */
static bool is_wanted(struct wp_explainer *x, uint32_t index, uint64_t first, uint64_t last, bool *is_guess)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *sleep = wp_thread_slice(thread, first), *slice = wp_thread_slice(thread, last);
    uint64_t latest_ns = sleep->out_ns + x->options.fit_ns;
    struct end by, before;
    bool is_at_some_time;
    *is_guess = false;
    if (!find_end(x, index, slice, &by) || !by.thread || !find_end(x, index, sleep, &before) ||
        before.thread == by.thread || before.socket != by.socket)
        return false;
    const struct wp_thread *child = &x->timeline->threads[by.thread];
    if (is_for_children(slice) && child->creator == index && child->birth_ns) /* it ends once */
        return child->birth_ns <= latest_ns && !wp_explain_is_layer(x, by.thread);
    struct ended ended = ended_before(x, index, last, &by);
    bool is_seldom = ended.others >= OTHERS_LIMIT;
    if ((ended.in_ns && ended.ordinal >= first && !is_seldom) || wp_explain_is_layer(x, by.thread))
        return false;
    uint64_t since_ns = wp_explain_outstanding_since(x, index, slice, &is_at_some_time);
    *is_guess = ended.in_ns > since_ns;
    return since_ns && !is_at_some_time && since_ns <= latest_ns && (is_seldom || !*is_guess) &&
        !wp_explain_is_outdated(x, since_ns) && !wp_explain_may_be_answered(x, index, slice, since_ns);
}

/* It sleeps in another call next, as most do. */
static bool turns_away(const struct wp_explainer *x, const struct wp_thread *thread, uint64_t ordinal)
{
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    const struct wp_slice *next = ordinal + 1 < thread->slice_end ? wp_thread_slice(thread, ordinal + 1) : slice;
    return next->syscall != slice->syscall && next->syscall != WP_CALL_FUTEX + 1 &&
        !(next->flags & WP_SLICE_PREEMPTED) && next->out_ns <= wp_explain_horizon(x);
}

enum wp_loop wp_explain_spurious(struct wp_explainer *x, uint32_t index, uint64_t ordinal, struct wp_loop_end *end)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    uint64_t last;
    bool is_guess;
    if (turns_away(x, thread, ordinal))
        return WP_LOOP_NONE;
    enum wp_loop row = find_last(x, index, ordinal, &last);
    if (row != WP_LOOP_ENDED)
        return row;
    if (!is_wanted(x, index, ordinal, last, &is_guess))
        return WP_LOOP_NONE;
    *end = (struct wp_loop_end){.ordinal = last, .slice = *wp_thread_slice(thread, last)};
    end->slice.is_inferred |= is_guess;
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
