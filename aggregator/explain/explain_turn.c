/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_turn.h"

#include "aggregator/explain/explain_client.h"
#include "aggregator/explain/explain_path.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/explain/explain_queue.h"
#include "aggregator/explain/explain_thread.h"
#include "aggregator/timeline/slices.h"

#define SLICE_LIMIT 1024u /* slices of the server that are looked at for its last wait */
#define WOKEN_LIMIT 64u   /* whom it woke */
#define BEFORE_LIMIT 256u /* of the sleeper, for an answer before this one */

/* The answer: on which connection, and when. */
struct answer {
    uint32_t connection;
    uint64_t time_ns;
};

/* The waker's waking of the sleeper at the same place that follows on this sleep; NULL: none that counts. */
static const struct wp_slice *next_answer(const struct wp_explainer *x, const struct wp_wait *wait)
{
    const struct wp_thread *thread = &x->timeline->threads[wait->thread];
    uint64_t ordinal = wp_thread_find(thread, wait->slice->wake_ns) + 1;
    while (ordinal < thread->slice_end && wp_thread_slice(thread, ordinal)->flags & WP_SLICE_PREEMPTED)
        ordinal++;
    const struct wp_slice *slice = ordinal < thread->slice_end ? wp_thread_slice(thread, ordinal) : NULL;
    bool is_answer = slice && slice->cause == WP_CAUSE_TASK && slice->waker == wait->slice->waker && slice->cause_d &&
        slice->wake_ns && slice->wake_ns <= wp_explain_horizon(x);
    return is_answer ? slice : NULL;
}

/* The server is in the call that reads the request: it has not slept up to that read, nor worked. */
static bool is_read_on(const struct wp_explainer *x, uint32_t server, uint64_t woken_ns, const struct wp_turn *read)
{
    const struct wp_thread *thread = &x->timeline->threads[server];
    uint64_t ordinal = wp_thread_find(thread, read->time_ns), ran_ns = 0;
    for (uint32_t i = 0; ordinal != thread->slice_end && i < SLICE_LIMIT; i++, ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        uint64_t since_ns = slice->in_ns > woken_ns ? slice->in_ns : woken_ns;
        uint64_t until_ns = slice->end_ns && slice->end_ns < read->time_ns ? slice->end_ns : read->time_ns;
        ran_ns += since_ns < until_ns ? until_ns - since_ns : 0;
        if (slice->in_ns && slice->in_ns <= woken_ns)
            return ran_ns <= x->options.fit_ns;
        if (!(slice->flags & WP_SLICE_PREEMPTED) || ordinal == thread->first_slice)
            return false;
    }
    return false;
}

/*
 * As a request is read its writer may be woken without effect: the answer ends the next sleep at the same place. Where
 * there is none, since the answer finds the sleeper awake, the server's turn to the request tells what was read.
 */
static struct answer answer_of(const struct wp_explainer *x, const struct wp_wait *wait)
{
    const struct wp_slice *slice = wait->slice, *next;
    struct wp_turn read;
    if (slice->cause_d || !wp_explain_is_reading_stream(x, slice))
        return (struct answer){slice->cause_d, slice->wake_ns};
    bool is_in_vain = wp_explain_is_in_vain(x, wait->thread, slice->wake_ns);
    next = is_in_vain ? next_answer(x, wait) : NULL;
    if (next)
        return (struct answer){next->cause_d, next->wake_ns};
    bool is_read = wp_turns_next(&x->timeline->messages.turns, slice->waker, slice->wake_ns, &read) &&
        read.time_ns <= wp_explain_horizon(x) && is_read_on(x, slice->waker, slice->wake_ns, &read);
    return is_read ? (struct answer){read.connection, read.time_ns + 1} : (struct answer){0};
}

/* The answer to the other one, should that have slept for it. */
static struct wp_served answered(const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server,
    const struct wp_turn *read, const struct wp_turn *other)
{
    const struct wp_woken_list *list = wp_woken_by(&x->timeline->woken, server);
    uint64_t i = list ? wp_woken_since(list, read->time_ns) : 0;
    for (uint32_t looks = 0; list && i-- > list->ring.first && looks < WOKEN_LIMIT; looks++) {
        const struct wp_woken_one *woken = wp_woken_at(list, i);
        const struct wp_thread *client = &x->timeline->threads[woken->thread];
        uint64_t ordinal = wp_thread_find(client, woken->time_ns);
        if (woken->time_ns <= other->time_ns)
            break;
        if (woken->thread == wait->thread || ordinal == client->slice_end)
            continue;
        const struct wp_slice *slice = wp_thread_slice(client, ordinal);
        if (slice->wake_ns == woken->time_ns && slice->cause == WP_CAUSE_TASK && slice->cause_d == other->connection)
            return (struct wp_served){.client = woken->thread,
                .until_ns = wp_explain_answer_end(&x->timeline->threads[server], woken->time_ns, x->options.fit_ns)};
    }
    return (struct wp_served){.until_ns = read->time_ns};
}

/* When the server slept last before the sleeper woke it, with its request or by the connection that it sent that on;
 * else when the server read the request. */
static uint64_t idle_since(const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server,
    const struct wp_turn *read, const struct wp_turn *other)
{
    const struct wp_thread *thread = &x->timeline->threads[server];
    uint64_t ordinal = wp_thread_find(thread, read->time_ns - 1);
    for (uint32_t i = 0; ordinal != thread->slice_end && i < SLICE_LIMIT; i++, ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        bool is_preempted = slice->flags & WP_SLICE_PREEMPTED; /* nobody wakes it */
        if ((is_preempted ? slice->out_ns : slice->wake_ns) <= other->time_ns)
            break;
        bool is_asked = slice->cause_d == read->connection || (!wait->is_far && slice->waker == wait->thread);
        if (slice->cause == WP_CAUSE_TASK && is_asked && !is_preempted)
            return slice->out_ns > other->time_ns ? slice->out_ns : other->time_ns;
        if (ordinal == thread->first_slice)
            break;
    }
    return read->time_ns;
}

/* Of several answers the last: one that found the other one awake may have come after one that woke it. */
static struct wp_served served_before(const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server,
    const struct wp_turn *read, const struct wp_turn *other)
{
    struct wp_served service = answered(x, wait, server, read, other);
    uint64_t written_ns = wp_turns_written(&x->timeline->messages.turns, server, other->connection, read->time_ns);
    uint64_t end_ns = written_ns > other->time_ns
        ? wp_explain_answer_end(&x->timeline->threads[server], written_ns, x->options.fit_ns)
        : 0;
    if (end_ns && (!service.client || service.until_ns < end_ns))
        service.until_ns = end_ns;
    else if (!service.client)
        service.until_ns = idle_since(x, wait, server, read, other);
    return service;
}

enum first { FIRST_NOT, FIRST_UNKNOWN, FIRST };

/* The sleeper was not woken by that connection between the read and this sleep: it is the answer to what was read.
 * FIRST_NOT: *answered_ns is when it was last. */
static enum first first_answer(const struct wp_explainer *x, uint32_t index, const struct wp_slice *sleep,
    const struct wp_turn *read, uint64_t *answered_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    uint64_t ordinal = wp_thread_find(thread, sleep->wake_ns);
    if (ordinal == thread->slice_end)
        return FIRST_UNKNOWN;
    for (uint32_t i = 0; ordinal-- > thread->first_slice && i < BEFORE_LIMIT; i++) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        if (slice->wake_ns && slice->wake_ns <= read->time_ns)
            return FIRST;
        if (slice->cause == WP_CAUSE_TASK && slice->cause_d == read->connection) {
            *answered_ns = slice->wake_ns;
            return FIRST_NOT;
        }
    }
    return FIRST_UNKNOWN;
}

/* The server read on the sleeper's stream before the sleep, and has not turned to another one: all of it is for that
 * one, be it the first request since then or a later one, unless it woke another client meanwhile. */
static bool is_with_sleeper(const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server,
    const struct wp_turn *read, const struct answer *answer)
{
    struct wp_turn last;
    uint64_t answered_ns = 0;
    enum first first = first_answer(x, wait->thread, wait->slice, read, &answered_ns);
    if (first != FIRST_NOT)
        return first == FIRST;
    return wp_turns_last(&x->timeline->messages.turns, server, answer->time_ns, &last) &&
        last.connection == read->connection && !wp_wait_has_served(x, wait, server, answered_ns);
}

bool wp_wait_in_turn(struct wp_explainer *x, const struct wp_wait *wait, uint32_t server, uint64_t from, uint64_t to)
{
    struct answer answer = answer_of(x, wait);
    struct wp_turn read, other;
    if (!answer.connection ||
        !wp_turns_read(&x->timeline->messages.turns, server, answer.connection, answer.time_ns, &read, &other) ||
        !other.time_ns || wp_explain_is_too_old(x, other.time_ns) ||
        wp_explain_is_mate(x, wp_explain_identity_at(x, server, to - 1)))
        return false;
    if (read.time_ns <= from && !is_with_sleeper(x, wait, server, &read, &answer))
        return false;
    struct wp_served before = {.until_ns = from};
    if (read.time_ns > from)
        before = served_before(x, wait, server, &read, &other);
    before.written_ns = wp_turns_written(&x->timeline->messages.turns, server, read.connection, other.time_ns);
    wp_wait_on_server(x, wait, &(struct wp_wait_part){wait->node, server, from, to, true}, &before);
    return true;
}

uint64_t wp_explain_turn_asked(const struct wp_explainer *x, uint32_t thread, const struct wp_slice *end)
{
    struct wp_turn read, other;
    uint64_t answered_ns;
    if (!end->cause_d || !end->waker ||
        !wp_turns_read(&x->timeline->messages.turns, end->waker, end->cause_d, end->wake_ns, &read, &other))
        return 0;
    if (wp_turns_written(&x->timeline->messages.turns, end->waker, end->cause_d, end->wake_ns) > read.time_ns ||
        first_answer(x, thread, end, &read, &answered_ns) == FIRST_NOT)
        return 0; /* it has had its answer */
    return wp_turns_written(&x->timeline->messages.turns, thread, end->cause_d, read.time_ns);
}
