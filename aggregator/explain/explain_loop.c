/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_loop.h"

#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_origin.h"
#include "aggregator/explain/explain_owed.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/explain/explain_queue.h"
#include "aggregator/explain/explain_shared.h"
#include "aggregator/explain/explain_turn.h"
#include "aggregator/explain/explain_unheard.h"
#include "aggregator/net/messages.h"
#include "aggregator/timeline/holders.h"

#include <string.h>

#define JOIN_LIMIT 65536u
#define SLICE_LIMIT 65536u /* slices behind a sleep that are looked at for the end of its loop ... */
#define END_LIMIT 64u      /* ... and ends: a thread that so much else came to does not wait for one thing */

/* --- what was outstanding --- */

/* What ended it was the end alone of a connection that had been answered since it asked last. */
static bool only_ended(const struct wp_messages *messages, const struct wp_slice *slice)
{
    const struct wp_socket *socket = wp_messages_socket(messages, slice->cause_d);
    uint64_t at_ns = slice->wake_ns;
    bool is_ended =
        socket && ((socket->ended_ns && socket->ended_ns <= at_ns) || (socket->over_ns && socket->over_ns <= at_ns));
    struct wp_receive last;
    return is_ended && wp_messages_received(messages, slice->cause_d, at_ns, &last) &&
        last.time_ns > wp_messages_asked(messages, slice->cause_d, at_ns) && last.end + 1 == (uint32_t)slice->cause_a;
}

/* Whoever slept before that for a time of its own did not wait for what ended this one. */
static bool is_unasked(const struct wp_explainer *x, const struct wp_slice *slice)
{
    bool is_message =
        slice->wake_ns && slice->cause == WP_CAUSE_MESSAGE && !(slice->cause_a & WP_POSITION_ACKNOWLEDGES);
    return wp_slice_is_interrupted(x->timeline, slice) || (is_message && only_ended(&x->timeline->messages, slice));
}

uint64_t wp_explain_outstanding_since(
    struct wp_explainer *x, uint32_t index, const struct wp_slice *end, bool *is_guess)
{
    const struct wp_timeline *timeline = x->timeline;
    const struct wp_blockop *op;
    struct wp_handover handover;
    uint64_t since_ns;
    *is_guess = false;
    if (is_unasked(x, end))
        return 0;
    switch (end->cause) {
    case WP_CAUSE_MESSAGE:
        return end->cause_a & WP_POSITION_ACKNOWLEDGES || wp_wait_is_sending(end)
            ? 0
            : wp_messages_asked(&timeline->messages, end->cause_d, end->wake_ns);
    case WP_CAUSE_TASK:
        if (!end->waker)
            return 0;
        handover =
            wp_explain_origin(x, &(struct wp_layer){.host = x->host, .thread = index}, 1, end->waker, end->wake_ns);
        since_ns = handover.origin == WP_ORIGIN_PATH ? handover.at_ns : wp_explain_turn_asked(x, index, end);
        *is_guess = !since_ns;
        return since_ns ? since_ns : wp_explain_busy_since(x, index, end);
    case WP_CAUSE_BLOCK:
        op = wp_blockops_at(&timeline->blockops, end->cause_a);
        return op && op->thread == index ? op->insert_ns : 0;
    default:
        return 0;
    }
}

/* What ended the later sleep did so unasked, or was asked for since the earlier one. */
static bool is_for_itself(
    struct wp_explainer *x, uint32_t index, const struct wp_slice *before, const struct wp_slice *after)
{
    bool is_guess;
    if (!after->wake_ns || after->wake_ns > wp_explain_horizon(x) || after->cause == WP_CAUSE_TIMER)
        return false;
    return is_unasked(x, after) ||
        (wp_explain_outstanding_since(x, index, after, &is_guess) > before->in_ns && !is_guess);
}

/* --- the paper's rule: hardly anything was run in between --- */

/* What the kernel makes a thread wait for, memory or writeback, is none: that sleep is uninterruptible. */
static bool timed_out(const struct wp_slice *slice)
{
    return slice->cause == WP_CAUSE_TIMER && slice->wake_ns && slice->state != WP_STATE_UNINTERRUPTIBLE &&
        !(slice->flags & (WP_SLICE_DELIBERATE | WP_SLICE_PREEMPTED));
}

/* What ended it says nothing of what it waited for: a timeout, or a message with nothing to read. */
static bool may_go_on(const struct wp_slice *slice)
{
    return timed_out(slice) ||
        (slice->cause == WP_CAUSE_MESSAGE && slice->cause_a & WP_POSITION_ACKNOWLEDGES && slice->wake_ns &&
            !(slice->flags & WP_SLICE_PREEMPTED) && !wp_wait_is_sending(slice));
}

/* That message found it with nothing to send, either: it goes on waiting for what it waited for. */
static bool woken_in_vain(const struct wp_explainer *x, const struct wp_slice *slice, uint32_t index, uint64_t until_ns)
{
    struct wp_send sent;
    return !wp_messages_last_send(&x->timeline->messages, slice->cause_d, until_ns, &sent) || sent.thread != index ||
        sent.time_ns < slice->wake_ns;
}

/* A run that is as long parts two sleeps of a loop: of one that timed out a tenth of its timeout, if that is more than
 * the bound. */
static uint64_t parts_ns(const struct wp_explainer *x, const struct wp_slice *slice)
{
    uint64_t tenth = timed_out(slice) && slice->wake_ns > slice->out_ns ? (slice->wake_ns - slice->out_ns) / 10 : 0;
    return tenth > x->options.join_ns ? tenth : x->options.join_ns;
}

uint64_t wp_explain_ran_until(
    const struct wp_explainer *x, const struct wp_thread *thread, uint64_t ordinal, uint64_t enough_ns, uint64_t *after)
{
    uint64_t horizon = wp_explain_horizon(x), ran = 0;
    for (;; ordinal++) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        uint64_t end = slice->end_ns && slice->end_ns <= horizon ? slice->end_ns : horizon;
        ran += slice->in_ns && slice->in_ns < end ? end - slice->in_ns : 0;
        *after = ordinal + 1;
        if (ran >= enough_ns || *after == thread->slice_end || wp_thread_slice(thread, *after)->out_ns > horizon ||
            !(wp_thread_slice(thread, *after)->flags & WP_SLICE_PREEMPTED) ||
            wp_thread_slice(thread, *after)->out_ns != slice->end_ns)
            return ran;
    }
}

bool wp_explain_is_one_place(const struct wp_dictionary *dictionary, uint32_t one, uint32_t other)
{
    bool is_user = false;
    while (one != other) {
        const struct wp_stack_entry *a = wp_dictionary_stack(dictionary, one),
                                    *b = wp_dictionary_stack(dictionary, other);
        if (!a || !b)
            return is_user;
        const struct wp_frame_entry *frame = wp_dictionary_frame(dictionary, a->frame);
        if (a->frame != b->frame || !frame)
            return false;
        is_user = !frame->is_kernel;
        one = a->parent;
        other = b->parent;
    }
    return true;
}

/* The sleep behind this one in a loop: this one timed out or was ended without effect, and little was run in between,
 * whoever else had the CPU meanwhile. */
static bool next_of_loop(struct wp_explainer *x, const struct wp_thread *thread, uint64_t ordinal, uint64_t *next)
{
    const struct wp_slice *before = wp_thread_slice(thread, ordinal);
    if (!may_go_on(before) || !before->in_ns ||
        wp_explain_ran_until(x, thread, ordinal, parts_ns(x, before), next) >= parts_ns(x, before) ||
        *next == thread->slice_end)
        return false;
    const struct wp_slice *after = wp_thread_slice(thread, *next);
    bool may_join =
        timed_out(before) || woken_in_vain(x, before, (uint32_t)(thread - x->timeline->threads), after->out_ns);
    return may_join && after->out_ns <= wp_explain_horizon(x) &&
        wp_thread_slice(thread, *next - 1)->end_ns == after->out_ns && before->syscall == after->syscall &&
        wp_explain_is_one_place(x->timeline->dictionary, before->stack, after->stack) &&
        !(after->flags & (WP_SLICE_PREEMPTED | WP_SLICE_DELIBERATE | WP_SLICE_EXEC)) &&
        !is_for_itself(x, (uint32_t)(thread - x->timeline->threads), before, after) &&
        !wp_explain_owing_parts(x, (uint32_t)(thread - x->timeline->threads), before, after);
}

static bool before_in_loop(struct wp_explainer *x, const struct wp_thread *thread, uint64_t ordinal, uint64_t *before)
{
    uint64_t next, candidate = ordinal;
    while (candidate-- > thread->first_slice)
        if (!(wp_thread_slice(thread, candidate)->flags & WP_SLICE_PREEMPTED)) {
            *before = candidate;
            return next_of_loop(x, thread, candidate, &next) && next == ordinal;
        }
    return false;
}

uint64_t wp_explain_defacto_start(struct wp_explainer *x, const struct wp_thread *thread, uint64_t ordinal)
{
    uint64_t before;
    for (uint32_t i = 0; i < JOIN_LIMIT && before_in_loop(x, thread, ordinal, &before); i++)
        ordinal = before;
    return wp_thread_slice(thread, ordinal)->out_ns;
}

uint64_t wp_explain_join_end(struct wp_explainer *x, const struct wp_thread *thread, uint64_t ordinal)
{
    uint64_t next;
    for (uint32_t i = 0; i < JOIN_LIMIT && next_of_loop(x, thread, ordinal, &next); i++)
        ordinal = next;
    return ordinal;
}

bool wp_explain_is_parted(const struct wp_explainer *x, const struct wp_thread *thread, uint64_t ordinal)
{
    const struct wp_slice *before = wp_thread_slice(thread, ordinal);
    uint64_t next = ordinal + 1;
    while (next < thread->slice_end && wp_thread_slice(thread, next)->flags & WP_SLICE_PREEMPTED)
        next++;
    if (!timed_out(before) || !before->in_ns || next >= thread->slice_end)
        return false;
    const struct wp_slice *after = wp_thread_slice(thread, next);
    uint64_t parts = parts_ns(x, before);
    return after->out_ns <= wp_explain_horizon(x) && before->stack == after->stack &&
        before->syscall == after->syscall && after->out_ns - before->in_ns >= parts &&
        after->out_ns - before->in_ns < 3 * parts && !(after->flags & (WP_SLICE_DELIBERATE | WP_SLICE_EXEC));
}

/* What is found is kept (wp_loop_cache), so it must not depend on who else is being explained: no layer counts. */
bool wp_explain_may_be_answered(struct wp_explainer *x, uint32_t index, const struct wp_slice *end, uint64_t since_ns)
{
    const struct wp_wait wait = {.thread = index, .slice = end};
    uint32_t depth = x->depth;
    if (end->cause != WP_CAUSE_TASK || end->cause_d)
        return false;
    x->depth = 0;
    bool is_served = wp_wait_has_served(x, &wait, end->waker, since_ns);
    x->depth = depth;
    return is_served;
}

/* In a call by which a thread waits for whatever its program waits for: a futex, or the event file of its own. */
static bool is_by_place(const struct wp_explainer *x, const struct wp_slice *slice)
{
    return slice->syscall == WP_CALL_FUTEX + 1 ||
        (slice->wait && wp_wait_is_choosing(slice) &&
            !strcmp(wp_dictionary_string(x->timeline->dictionary, wp_timeline_wait(x->timeline, slice)), "eventfd"));
}

/* It is of the loop that `first` is of: it sleeps in the same call, and where that says nothing at the same place. */
static bool is_alike(const struct wp_explainer *x, const struct wp_slice *first, const struct wp_slice *slice)
{
    if (slice->syscall != first->syscall || slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_DELIBERATE))
        return false;
    return !first->stack || !slice->stack || !is_by_place(x, slice) ||
        wp_explain_is_one_place(x->timeline->dictionary, first->stack, slice->stack);
}

bool wp_explain_is_outdated(const struct wp_explainer *x, uint64_t since_ns)
{
    bool is_old = since_ns <= wp_explain_oldest(x);
    if (x->recording && since_ns)
        wp_shared_holds(
            x, is_old ? (int64_t)since_ns - 1 : -WP_SHARED_ALWAYS, is_old ? WP_SHARED_ALWAYS : (int64_t)since_ns - 1);
    return is_old;
}

/* The answer that the thread read first of what it had asked for before that sleep. */
static bool find_answer(const struct wp_explainer *x, uint32_t index, const struct wp_slice *first,
    struct wp_answer *answer, uint32_t *passed)
{
    struct wp_answer_wanted wanted = {first->out_ns, wp_explain_horizon(x), first->out_ns + x->options.fit_ns};
    return wp_asked_answered(&x->timeline->messages.asked, index, &wanted, answer, passed);
}

static enum wp_loop find_end(struct wp_explainer *x, uint32_t index, uint64_t ordinal, struct wp_loop_cache *found)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *first = wp_thread_slice(thread, ordinal);
    uint64_t horizon = wp_explain_horizon(x);
    uint32_t ends = 0, passed = 0;
    struct wp_answer answer = {0};
    struct wp_unheard unheard = {0};
    bool is_answered = find_answer(x, index, first, &answer, &passed);
    bool is_unheard = wp_explain_unheard(x, index, first, &unheard);
    for (uint64_t i = ordinal + 1; ends < END_LIMIT && i - ordinal < SLICE_LIMIT; i++) {
        const struct wp_slice *slice = i < thread->slice_end ? wp_thread_slice(thread, i) : NULL;
        if (is_answered && (!slice || slice->out_ns >= answer.read_ns)) {
            *found = (struct wp_loop_cache){.host = x->host,
                .thread = index,
                .first = ordinal,
                .end = i,
                .since_ns = answer.asked_ns,
                .answer = answer,
                .is_lasting = true,
                .is_exact = !ends && !passed};
            return WP_LOOP_ENDED;
        }
        if (is_unheard && (!slice || slice->out_ns >= unheard.until_ns)) {
            *found = (struct wp_loop_cache){.host = x->host,
                .thread = index,
                .first = ordinal,
                .end = i,
                .since_ns = unheard.asked_ns,
                .unheard = unheard,
                .is_exact = !ends};
            return WP_LOOP_ENDED;
        }
        if (!slice || slice->out_ns > horizon)
            return wp_thread_is_dead(thread, horizon) && i == thread->slice_end ? WP_LOOP_NONE : WP_LOOP_OPEN;
        if (slice->flags & WP_SLICE_EXEC || slice->is_cut)
            return WP_LOOP_NONE;
        if (!is_alike(x, first, slice))
            continue;
        if (!slice->in_ns || slice->in_ns > horizon)
            return WP_LOOP_OPEN;
        if (!slice->wake_ns || slice->cause == WP_CAUSE_TIMER)
            continue;
        bool is_guess;
        uint64_t since_ns = wp_explain_outstanding_since(x, index, slice, &is_guess);
        ends++;
        if (!since_ns || since_ns > first->out_ns + x->options.fit_ns ||
            (slice->cause != WP_CAUSE_MESSAGE && wp_explain_is_outdated(x, since_ns)))
            continue;
        *found = (struct wp_loop_cache){.host = x->host,
            .thread = index,
            .first = ordinal,
            .end = i,
            .since_ns = since_ns,
            .is_lasting = slice->cause == WP_CAUSE_MESSAGE,
            .is_guess = is_guess,
            .is_doubtful = !is_guess && wp_explain_may_be_answered(x, index, slice, since_ns),
            .is_exact = ends == 1};
        return WP_LOOP_ENDED;
    }
    return WP_LOOP_NONE;
}

/* The sleeps of a loop are asked about one after the other. */
static bool is_known(const struct wp_explainer *x, const struct wp_loop_cache *cache, uint32_t index, uint64_t ordinal)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    if (!cache->end || !cache->is_exact || cache->host != x->host || cache->thread != index || cache->first > ordinal ||
        ordinal >= cache->end || (!cache->is_lasting && wp_explain_is_outdated(x, cache->since_ns)) ||
        cache->leaves != x->fleet->leaves)
        return false;
    if (cache->answer.read_ns || cache->unheard.asked_ns)
        return is_alike(x, wp_thread_slice(thread, cache->first), slice) &&
            (cache->unheard.asked_ns ? cache->unheard.until_ns >= slice->wake_ns
                                     : cache->answer.arrived_ns > slice->out_ns);
    return is_alike(x, wp_thread_slice(thread, cache->end), slice);
}

static struct wp_loop_end end_of(
    const struct wp_thread *thread, const struct wp_slice *first, const struct wp_loop_cache *found)
{
    const struct wp_answer *answer = &found->answer;
    if (found->unheard.asked_ns) {
        struct wp_loop_end end = {.ordinal = found->end, .slice = *first, .is_awake = true};
        end.slice.wake_ns = end.slice.in_ns = found->unheard.until_ns;
        end.slice.cause = WP_CAUSE_TASK;
        end.slice.cause_a = 0;
        end.slice.cause_d = found->unheard.connection;
        end.slice.waker = found->unheard.server;
        end.slice.is_inferred = found->unheard.is_guess;
        return end;
    }
    if (!answer->read_ns) {
        struct wp_loop_end end = {
            .ordinal = found->end, .slice = *wp_thread_slice(thread, found->end), .is_guess = found->is_guess};
        end.slice.is_inferred |= found->is_guess || found->is_doubtful;
        return end;
    }
    struct wp_loop_end end = {.ordinal = found->end, .slice = *first, .is_awake = true};
    end.slice.wake_ns = answer->arrived_ns;
    end.slice.in_ns = answer->read_ns;
    end.slice.cause = WP_CAUSE_MESSAGE;
    end.slice.cause_a = answer->end;
    end.slice.cause_d = answer->socket;
    return end;
}

enum wp_loop wp_explain_loop(struct wp_explainer *x, uint32_t thread, uint64_t ordinal, struct wp_loop_end *end)
{
    const struct wp_slice *slice = wp_thread_slice(&x->timeline->threads[thread], ordinal);
    struct wp_loop_cache *cache = &x->loops[thread % WP_LOOP_CACHE];
    bool is_message = slice->cause == WP_CAUSE_MESSAGE && !(slice->cause_a & WP_POSITION_ACKNOWLEDGES);
    if ((!may_go_on(slice) && !is_message) || !slice->syscall)
        return WP_LOOP_NONE;
    enum wp_loop loop = is_known(x, cache, thread, ordinal) ? WP_LOOP_ENDED : find_end(x, thread, ordinal, cache);
    if (loop == WP_LOOP_ENDED) {
        cache->leaves = x->fleet->leaves;
        *end = end_of(&x->timeline->threads[thread], slice, cache);
    }
    return loop;
}

/* --- what is not known yet --- */

bool wp_explain_pending(struct wp_explainer *x, uint32_t index, uint64_t ordinal)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    struct wp_loop_end loop;
    struct wp_owing_end owing;
    x->oldest_ns = slice->in_ns > x->options.origin_ns ? slice->in_ns - x->options.origin_ns : 0;
    if (!may_go_on(slice))
        return wp_explain_owing(x, index, slice, &owing) == WP_OWING_OPEN &&
            wp_explain_loop(x, index, ordinal, &loop) != WP_LOOP_ENDED;
    uint64_t end = wp_explain_join_end(x, thread, ordinal), after, horizon = wp_explain_horizon(x);
    const struct wp_slice *last = wp_thread_slice(thread, end);
    if (!last->in_ns || last->in_ns > horizon)
        return true; /* the next sleep of the loop has not ended */
    if (may_go_on(last) && wp_explain_ran_until(x, thread, end, parts_ns(x, last), &after) < parts_ns(x, last) &&
        (after == thread->slice_end || wp_thread_slice(thread, after)->out_ns > horizon))
        return true; /* it may come to that sleep yet */
    return wp_explain_loop(x, index, ordinal, &loop) == WP_LOOP_OPEN;
}
