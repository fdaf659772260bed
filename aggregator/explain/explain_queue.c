/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_queue.h"

#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_client.h"
#include "aggregator/explain/explain_origin.h"
#include "aggregator/explain/explain_path.h"
#include "aggregator/explain/explain_shared.h"
#include "aggregator/explain/explain_thread.h"
#include "aggregator/timeline/slices.h"
#include "common/array.h"

#define STEP_LIMIT 1024u  /* slices of the waker that are looked at for one sleep ... */
#define WAKING_LIMIT 64u  /* ... and wakings by it */
#define ROW_LIMIT 64u     /* slices of one that it woke again and again ... */
#define LOOKS_A_VISIT 32u /* ... and what they cost of the budget */
#define ORIGIN_LIMIT                                                                                                   \
    8u /* ... of which so many may have been woken by others: whose work those did is followed back                    \
        */

struct queue {
    uint64_t until_ns; /* the server was done with the other one then, and turned to the sleeper */
    uint32_t thread;   /* that other one; the sleeper itself, should its request have been read or answered then */
    uint64_t doubt_ns; /* behind that, what may have been an answer to one who has never found the server asleep */
    bool is_alike;     /* that other one was served for the same as the sleeper, as far as the place tells */
    uint32_t looks;    /* slices that were looked at for it */
};

uint64_t wp_explain_answer_end(const struct wp_thread *server, uint64_t at_ns, uint64_t fit_ns)
{
    uint64_t ordinal = wp_thread_find(server, at_ns);
    if (ordinal == server->slice_end || wp_thread_slice(server, ordinal)->in_ns > at_ns)
        return at_ns;
    while (++ordinal < server->slice_end) {
        const struct wp_slice *slice = wp_thread_slice(server, ordinal);
        bool is_in_call = wp_wait_is_sending(slice) || slice->syscall == WP_CALL_FUTEX + 1;
        if (!(slice->flags & WP_SLICE_PREEMPTED) || !is_in_call || slice->out_ns > at_ns + fit_ns || !slice->in_ns)
            break;
        at_ns = slice->in_ns;
    }
    return at_ns;
}

/* It ended that sleep: what it sends over TCP on this host wakes the receiver within its call. */
static bool has_ended(const struct wp_explainer *x, uint32_t server, const struct wp_slice *slice)
{
    return wp_explain_waker(x, slice) == server || (slice->cause == WP_CAUSE_MESSAGE && slice->waker == server);
}

uint64_t wp_explain_own_end(
    const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server, uint64_t from_ns, uint64_t written_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[wait->thread];
    uint64_t ordinal = wait->is_far ? thread->slice_end : wp_thread_find(thread, from_ns);
    if (ordinal == thread->slice_end)
        return 0;
    for (uint32_t i = 0; ordinal-- > thread->first_slice && i < WAKING_LIMIT; i++) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        bool is_sleep = slice->wake_ns && !(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_BORN));
        if (!is_sleep || !has_ended(x, server, slice))
            continue;
        if (!wp_wait_is_reading(slice) && !wp_wait_is_choosing(slice)) /* a lock, perhaps: no answer */
            break;
        written_ns = written_ns > slice->wake_ns ? written_ns : slice->wake_ns;
        break;
    }
    return written_ns && written_ns <= from_ns && !wp_explain_is_too_old(x, written_ns)
        ? wp_explain_answer_end(&x->timeline->threads[server], written_ns, x->options.fit_ns)
        : 0;
}

void wp_wait_on_server(
    struct wp_explainer *x, const struct wp_wait *wait, const struct wp_wait_part *part, const struct wp_served *before)
{
    const struct wp_thread *thread = &x->timeline->threads[part->waker];
    uint64_t from = part->from_ns, to = part->to_ns;
    uint64_t until = before->until_ns < from ? from : before->until_ns < to ? before->until_ns : to;
    uint64_t own = from < until ? wp_explain_own_end(x, wait, part->waker, from, before->written_ns) : from;
    own = own < from ? from : own < until ? own : until;
    wp_wait_on_thread(x, wait, &(struct wp_wait_part){part->node, part->waker, until, to, true});
    if (own < until)
        wp_explain_on_path_of(x, part->node, &(struct wp_interval){x->host, part->waker, own, until},
            wp_explain_identity(thread, wp_thread_find(thread, until - 1)),
            &(struct wp_handover){WP_ORIGIN_OTHER, before->client, until});
    wp_wait_on_thread(x, wait, &(struct wp_wait_part){part->node, part->waker, from, own, true});
}

/* When the waker last ended a sleep of that thread for the same as this one, as far as the place tells; 0: not since it
 * woke another one, at `since_ns`. One that is answered may wait for a lock that the waker holds, and be woken again.
 */
static uint64_t alike_ns(const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server,
    const struct wp_woken_one *woken, uint64_t since_ns, uint32_t *looks)
{
    const struct wp_thread *thread = &x->timeline->threads[woken->thread];
    uint64_t ordinal = wp_thread_find(thread, woken->time_ns);
    for (uint32_t i = 0; ordinal != thread->slice_end && i < ROW_LIMIT; i++, ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        bool is_sleep = slice->wake_ns && !(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_BORN));
        ++*looks;
        if (is_sleep && slice->wake_ns <= since_ns)
            break;
        if (is_sleep && slice->wake_ns <= woken->time_ns && slice->stack == wait->slice->stack &&
            slice->syscall == wait->slice->syscall && wp_explain_waker(x, slice) == server)
            return slice->wake_ns;
        if (ordinal == thread->first_slice)
            break;
    }
    return 0;
}

/* With no layers nothing of it depends on who they are (explain_loop.c). */
bool wp_explain_is_layer(const struct wp_explainer *x, uint32_t thread)
{
    bool is_found = false;
    for (uint32_t i = x->depth; i-- > 0 && !is_found;)
        is_found = x->layers[i].host == x->host && x->layers[i].thread == thread;
    if (x->recording && !is_found && x->depth)
        wp_shared_met(x, thread);
    else if (x->recording && is_found && wp_shared_is_below(x, thread))
        wp_shared_refuse(x, true);
    return is_found;
}

/* The waker slept so amid what it did for one: it waited by itself, for a lock that another one held, or for what it
 * had asked others for. */
static bool goes_on(const struct wp_explainer *x, uint32_t waker, const struct wp_slice *slice, uint32_t *origins)
{
    uint32_t by = wp_explain_waker(x, slice);
    if (wp_slice_holder(slice))
        return true;
    if (slice->cause == WP_CAUSE_MESSAGE && !by)
        return wp_messages_asked(&x->timeline->messages, slice->cause_d, slice->wake_ns) != 0;
    if (!by || by == waker || wp_explain_is_kernel(x, by))
        return true;
    return !wp_explain_is_layer(x, by) && ++*origins <= ORIGIN_LIMIT &&
        wp_explain_origin(x, &(struct wp_layer){.host = x->host, .thread = waker}, 1, by, slice->wake_ns).origin ==
        WP_ORIGIN_PATH;
}

/* It ran on after it had lost its CPU or taken another name, and that will not change. */
static bool is_resumed(const struct wp_slice *slice)
{
    return slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_RENAME) && !(slice->flags & WP_SLICE_FIRST) && slice->in_ns &&
        slice->in_ns >= slice->out_ns;
}

static struct wp_resumed *resumed_near(const struct wp_explainer *x, uint32_t thread, uint64_t ordinal)
{
    uint64_t at = thread * 29u + ordinal / WP_RESUMED_SLICES;
    return &((struct wp_explainer *)(uintptr_t)x)->resumed[at % WP_RESUMED]; /* no part of what it explains */
}

static void add_resumed(const struct wp_explainer *x, uint32_t thread, uint64_t ordinal)
{
    struct wp_resumed *known = resumed_near(x, thread, ordinal);
    uint64_t block = ordinal / WP_RESUMED_SLICES;
    if (known->thread != thread || known->host != x->host || known->block != block)
        *known = (struct wp_resumed){.thread = thread, .host = x->host, .block = block};
    known->bits |= (uint64_t)1 << ordinal % WP_RESUMED_SLICES;
}

/* From that slice back over those that are known to be such ones, up to one that began by `from_ns`. */
static uint64_t before_resumed(const struct wp_explainer *x, uint32_t index, uint64_t ordinal, uint64_t from_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_resumed *known = resumed_near(x, index, ordinal);
    if (known->thread != index || known->host != x->host || known->block != ordinal / WP_RESUMED_SLICES)
        return ordinal;
    uint64_t others = ~(known->bits << (WP_RESUMED_SLICES - 1 - ordinal % WP_RESUMED_SLICES));
    uint64_t count = others ? (uint64_t)__builtin_clzll(others) : WP_RESUMED_SLICES;
    uint64_t low = count ? ordinal + 1 - count : ordinal;
    low = low > thread->first_slice ? low : thread->first_slice;
    if (wp_thread_slice(thread, low)->out_ns > from_ns)
        return low;
    return WP_LOWER_BOUND(middle, low + 1, ordinal + 1, wp_thread_slice(thread, middle)->out_ns <= from_ns) - 1;
}

/* Since when the waker may have worked for the sleeper: then it was woken by somebody. */
static uint64_t turned_ns(const struct wp_explainer *x, uint32_t waker, uint64_t from_ns, uint64_t to_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[waker];
    uint64_t ordinal = wp_thread_find(thread, to_ns - 1), last = ordinal;
    uint32_t origins = 0;
    for (; ordinal != thread->slice_end; ordinal--) {
        ordinal = before_resumed(x, waker, ordinal, from_ns);
        if (last - ordinal >= STEP_LIMIT)
            break;
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        bool is_continued = slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_RENAME) ||
            (slice->wake_ns && !(slice->flags & (WP_SLICE_BORN | WP_SLICE_EXEC)) && goes_on(x, waker, slice, &origins));
        if (slice->in_ns <= from_ns || !is_continued || slice->flags & WP_SLICE_FIRST || ordinal == thread->first_slice)
            return slice->in_ns;
        if (is_resumed(slice))
            add_resumed(x, waker, ordinal);
    }
    return to_ns;
}

/* The sleeper itself was served then: at that waking, or where `queue` has one before it for the same as this sleep, at
 * that one. */
static bool is_own(const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server,
    const struct wp_woken_one *woken, struct queue *queue)
{
    bool is_in_vain = wp_explain_is_in_vain(x, woken->thread, woken->time_ns);
    if (!is_in_vain && queue->is_alike && wp_wait_is_reading(wait->slice))
        return true;
    queue->until_ns = woken->time_ns;
    return is_in_vain || wp_explain_answered_client(x, wait, server, woken) == WP_CLIENT_YES;
}

/*
 * The last one that was served before the sleeper, and by itself: one like the sleeper, or a client of another program.
 * Of those who are alike, such as are woken one right behind the other waited for one thing. Where the sleeper itself
 * was woken without effect, its request was read then; where it was answered, it was the one that was served last.
 */
static bool find_served(const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server,
    const struct wp_woken_list *list, struct queue *queue)
{
    enum { NOT_LOOKED, NO, YES } place = NOT_LOOKED;                      /* it takes a walk through the stack */
    enum { ALONE_NOT_LOOKED, ALONE, ALONE_NOT } alone = ALONE_NOT_LOOKED; /* it was woken for itself alone */
    uint64_t together = wait->slice->wake_ns, i = wp_woken_since(list, together);
    for (uint32_t steps = 0; i-- > list->ring.first && steps < WAKING_LIMIT; steps++) {
        const struct wp_woken_one *woken = wp_woken_at(list, i);
        queue->until_ns = woken->time_ns;
        queue->thread = woken->thread;
        if (wp_explain_is_too_old(x, woken->time_ns))
            return false;
        if (place == NOT_LOOKED)
            place = wp_explain_has_own_functions(x, wait->slice->stack) ? YES : NO;
        uint64_t since_ns = i > list->ring.first ? wp_woken_at(list, i - 1)->time_ns : 0;
        uint64_t served_ns = place == YES ? alike_ns(x, wait, server, woken, since_ns, &queue->looks) : 0;
        if (served_ns && wp_explain_is_too_old(x, served_ns))
            return false;
        queue->is_alike = served_ns != 0;
        queue->until_ns = served_ns ? served_ns : woken->time_ns;
        if (wp_explain_is_layer(x, woken->thread))
            return woken->thread == wait->thread && is_own(x, wait, server, woken, queue);
        bool is_near = x->options.fit_ns && queue->until_ns + x->options.fit_ns >= together;
        if (is_near && alone == ALONE_NOT_LOOKED)
            alone = wp_explain_is_in_vain(x, wait->thread, wait->slice->wake_ns) ? ALONE : ALONE_NOT;
        bool is_together = is_near && alone == ALONE_NOT;
        if (!is_together && served_ns)
            return true;
        enum wp_client_answer client = wp_explain_answered_client(x, wait, server, woken);
        if (client == WP_CLIENT_YES) {
            queue->until_ns = woken->time_ns;
            return true;
        }
        if (client == WP_CLIENT_MAYBE && !queue->doubt_ns)
            queue->doubt_ns = woken->time_ns;
        if (is_together)
            together = queue->until_ns;
    }
    return false;
}

/* Whom it woke before that; NULL: nobody but one, as mostly. */
static const struct wp_woken_list *woken_by(const struct wp_explainer *x, uint32_t server, uint64_t before_ns)
{
    const struct wp_woken_list *list = wp_woken_by(&x->timeline->woken, server);
    bool is_found =
        list && list->ring.end != list->ring.first && wp_woken_at(list, list->ring.first)->time_ns < before_ns;
    return is_found ? list : NULL;
}

static bool find_queue(const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server, struct queue *queue)
{
    const struct wp_woken_list *list = woken_by(x, server, wait->slice->wake_ns);
    *queue = (struct queue){0};
    if (!list || wp_explain_is_kernel(x, server))
        return false;
    bool is_found = find_served(x, wait, server, list, queue);
    x->fleet->visits += queue->looks / LOOKS_A_VISIT;
    return is_found && turned_ns(x, server, queue->until_ns, wait->slice->wake_ns) <= queue->until_ns;
}

bool wp_wait_has_served(const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server, uint64_t since_ns)
{
    struct queue queue;
    return find_queue(x, wait, server, &queue) && queue.thread != wait->thread && queue.until_ns > since_ns;
}

/* Did the server do more in that interval than to wait for a CPU? */
static bool has_worked(const struct wp_explainer *x, const struct wp_thread *server, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t ordinal = wp_thread_find(server, to_ns - 1), idle_ns = 0;
    for (uint32_t i = 0; ordinal != server->slice_end && i < STEP_LIMIT; i++, ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(server, ordinal);
        uint64_t woken_ns = slice->flags & WP_SLICE_PREEMPTED ? slice->out_ns : slice->wake_ns;
        uint64_t low_ns = woken_ns > from_ns ? woken_ns : from_ns;
        uint64_t high_ns = slice->in_ns && slice->in_ns < to_ns ? slice->in_ns : to_ns;
        idle_ns += low_ns < high_ns ? high_ns - low_ns : 0;
        if (slice->out_ns <= from_ns || ordinal == server->first_slice)
            break;
    }
    return to_ns - from_ns > idle_ns + x->options.fit_ns;
}

/* When the server was done with the one before. Who is woken without effect is woken as its request is read: what the
 * server did before that was for others, though nobody was woken at its end. */
static uint64_t done_ns(
    const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server, const struct queue *queue)
{
    const struct wp_thread *thread = &x->timeline->threads[server];
    uint64_t woken_ns = wait->slice->wake_ns;
    if (queue->thread == wait->thread)
        return queue->until_ns;
    uint64_t until_ns = wp_explain_answer_end(thread, queue->until_ns, x->options.fit_ns);
    bool is_read = until_ns < woken_ns && wp_explain_is_in_vain(x, wait->thread, woken_ns) &&
        has_worked(x, thread, until_ns, woken_ns);
    return is_read ? woken_ns : until_ns;
}

/* Until when the server may have worked for somebody else all the same: until it woke one who may be its client, unless
 * it is known to have been set going for the sleeper since it answered that last. The part's start: it has not. */
static uint64_t doubtful_until(
    const struct wp_explainer *x, const struct wp_wait *wait, const struct queue *queue, const struct wp_interval *part)
{
    uint64_t until_ns = queue->doubt_ns < part->end_ns ? queue->doubt_ns : part->end_ns;
    if (until_ns <= part->start_ns || turned_ns(x, part->thread, until_ns, wait->slice->wake_ns) > until_ns)
        return part->start_ns;
    struct wp_handover by = wp_explain_origin(x, x->layers, x->depth, part->thread, until_ns);
    bool is_known = by.origin == WP_ORIGIN_PATH &&
        by.at_ns > wp_explain_last_woken(x, wait->thread, part->thread, wait->slice->wake_ns);
    return is_known ? part->start_ns : until_ns;
}

bool wp_wait_in_queue(
    struct wp_explainer *x, const struct wp_wait *wait, uint32_t node, uint32_t server, uint64_t from, uint64_t to)
{
    struct queue queue;
    if (!woken_by(x, server, wait->slice->wake_ns) || wp_explain_is_mate(x, wp_explain_identity_at(x, server, to - 1)))
        return false;
    bool is_queue = find_queue(x, wait, server, &queue);
    struct wp_served before = {.until_ns = is_queue ? done_ns(x, wait, server, &queue) : 0, .client = queue.thread};
    uint64_t low = before.until_ns < from ? from : before.until_ns < to ? before.until_ns : to;
    uint64_t doubt = doubtful_until(x, wait, &queue, &(struct wp_interval){x->host, server, low, to});
    if (!is_queue && doubt == low)
        return false;
    if (x->depth) /* no part of it is taken over by another layer, which would have the whole (wp_explain_relays) */
        x->asleep[x->depth - 1].site = 0;
    wp_wait_on_thread(x, wait, &(struct wp_wait_part){node, server, doubt, to, is_queue});
    x->doubts++;
    wp_wait_on_thread(x, wait, &(struct wp_wait_part){node, server, low, doubt, is_queue});
    x->doubts--;
    if (from < low)
        wp_wait_on_server(x, wait, &(struct wp_wait_part){node, server, from, low, true}, &before);
    return true;
}
