/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_unheard.h"

#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_client.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/timeline/slices.h"

#define LOOKS_A_VISIT 32u /* what they cost of the budget */
#define MATE_LIMIT 4u     /* threads of the process whom it asked last, ... */
#define WOKEN_LIMIT 8u    /* ... of so many that it woke last, ... */
#define ASLEEP_LIMIT 64u  /* ... in so many slices of each */
#define SERVER_LIMIT 256u /* slices of the server that are looked at, on either side of the sleep */
#define ANSWER_LIMIT 256u /* of the thread, for an answer before */

/* A thread, its sleep, and how much was looked at for what may be outstanding. */
struct search {
    const struct wp_explainer *x;
    uint32_t thread, looks;
    const struct wp_slice *first;
};

/* Whom the thread has found asleep, and where. */
struct servers {
    struct wp_asked_place places[WP_CLIENT_SERVERS];
    uint32_t count;
};

static bool is_at(const struct wp_slice *slice, const struct wp_asked_place *place)
{
    return slice->stack == place->stack && slice->syscall == place->syscall &&
        !(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_BORN));
}

/* Where the server was last at that place before the sleep, if the thread's request ended that; else its slice_end. */
static uint64_t asked_at(struct search *search, const struct wp_asked_place *place)
{
    const struct wp_explainer *x = search->x;
    uint64_t by_ns = search->first->out_ns + x->options.fit_ns;
    const struct wp_thread *server = &x->timeline->threads[place->server];
    uint64_t ordinal = wp_thread_find(server, by_ns);
    for (uint32_t i = 0; ordinal != server->slice_end && i < SERVER_LIMIT; i++, ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(server, ordinal);
        search->looks++;
        if (is_at(slice, place)) {
            bool is_asked = slice->wake_ns && slice->wake_ns <= by_ns && wp_explain_waker(x, slice) == search->thread;
            return is_asked ? ordinal : server->slice_end;
        }
        if (ordinal == server->first_slice)
            break;
    }
    return server->slice_end;
}

/* When it is back there, and in *run_ns when the run before that began; 0: not yet. */
static uint64_t back_at(struct search *search, const struct wp_asked_place *place, uint64_t ordinal, uint64_t *run_ns)
{
    const struct wp_explainer *x = search->x;
    const struct wp_thread *server = &x->timeline->threads[place->server];
    *run_ns = wp_thread_slice(server, ordinal)->in_ns;
    for (uint32_t i = 0; ++ordinal < server->slice_end && i < SERVER_LIMIT; i++) {
        const struct wp_slice *slice = wp_thread_slice(server, ordinal);
        search->looks++;
        if (slice->out_ns > wp_explain_horizon(x))
            break;
        if (is_at(slice, place))
            return slice->out_ns;
        if (!(slice->flags & WP_SLICE_PREEMPTED))
            *run_ns = slice->in_ns;
    }
    return 0;
}

/* Has that server ended a wait of the thread before? Who only hands work on does not wait for it. A futex may be a
 * lock, but not where the thread waits now. */
static bool has_answered(struct search *search, uint32_t server)
{
    const struct wp_explainer *x = search->x;
    const struct wp_thread *thread = &x->timeline->threads[search->thread];
    uint64_t ordinal = wp_thread_find(thread, search->first->out_ns);
    if (ordinal == thread->slice_end)
        return false;
    for (uint32_t i = 0; ordinal-- > thread->first_slice && i < ANSWER_LIMIT; i++) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        search->looks++;
        if (wp_explain_waker(x, slice) != server || !slice->wake_ns || slice->flags & WP_SLICE_PREEMPTED)
            continue;
        bool is_here = slice->stack && slice->stack == search->first->stack && slice->syscall == search->first->syscall;
        return (wp_wait_is_reading(slice) || wp_wait_is_choosing(slice) || is_here) &&
            !wp_explain_is_too_old(x, slice->wake_ns);
    }
    return false;
}

/* It may have been answered by then: it is awake, or was as the server ran last. */
static bool is_awake(
    const struct wp_explainer *x, uint32_t index, const struct wp_slice *first, uint64_t at_ns, uint64_t run_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    const struct wp_slice *slice = wp_thread_slice(thread, wp_thread_find(thread, at_ns));
    bool is_asleep =
        slice->out_ns <= at_ns && (!slice->wake_ns || slice->wake_ns > at_ns) && !(slice->flags & WP_SLICE_PREEMPTED);
    return !is_asleep || slice->syscall != first->syscall || (slice->out_ns > run_ns && slice->out_ns != first->out_ns);
}

/* The unix stream that the waking was written to; 0: another way. */
static uint32_t stream_of(const struct wp_slice *asked)
{
    return asked->cause == WP_CAUSE_TASK ? asked->cause_d : 0;
}

/* When the server wrote the answer to a request of `asked_ns` on that stream, if that woke nobody; 0: not known. Of
 * that is told as it reads on another stream, or sleeps with a timeout: where it waits for requests it is back at
 * `back_ns`.
 */
static uint64_t written_at(
    const struct wp_explainer *x, uint32_t server, uint32_t stream, uint64_t asked_ns, uint64_t back_ns)
{
    const struct wp_turns *turns = &x->timeline->messages.turns;
    uint64_t written_ns = stream ? wp_turns_first_written(turns, server, stream, asked_ns) : 0;
    struct wp_turn read;
    bool is_told = written_ns &&
        ((back_ns && written_ns <= back_ns) ||
            (wp_turns_next(turns, server, written_ns, &read) && read.time_ns <= wp_explain_horizon(x)));
    return is_told && (!back_ns || written_ns <= back_ns) ? written_ns : 0;
}

static bool is_outstanding(struct search *search, const struct wp_asked_place *place, struct wp_unheard *found)
{
    const struct wp_explainer *x = search->x;
    const struct wp_slice *first = search->first;
    const struct wp_thread *server = &x->timeline->threads[place->server];
    uint64_t run_ns, ordinal = asked_at(search, place);
    if (ordinal == server->slice_end)
        return false;
    const struct wp_slice *asked = wp_thread_slice(server, ordinal);
    uint64_t asked_ns = asked->wake_ns, back_ns = back_at(search, place, ordinal, &run_ns);
    uint64_t written_ns = written_at(x, place->server, stream_of(asked), asked_ns, back_ns);
    uint64_t until_ns = written_ns ? written_ns : back_ns;
    if (until_ns < first->wake_ns || asked_ns <= found->asked_ns || wp_explain_is_too_old(x, asked_ns))
        return false;
    if (!written_ns && (!is_awake(x, search->thread, first, until_ns, run_ns) || !has_answered(search, place->server)))
        return false;
    *found = (struct wp_unheard){asked_ns, until_ns, place->server, stream_of(asked), !written_ns};
    return true;
}

static bool may_be_asked(const struct wp_asked_place *place)
{
    const struct wp_slice there = {.syscall = place->syscall & WP_SLICE_SYSCALL};
    return place->syscall && (wp_wait_is_reading(&there) || wp_wait_is_choosing(&there));
}

/* --- a request that woke nobody --- */

/* When the server next waits for requests after `since_ns`, where the thread has found it, and in *run_ns when the run
 * before that began; 0: not yet, or it has not found it. */
static uint64_t waits_at(
    struct search *search, const struct servers *servers, uint32_t server, uint64_t since_ns, uint64_t *run_ns)
{
    const struct wp_thread *thread = &search->x->timeline->threads[server];
    uint64_t ordinal = wp_thread_find(thread, since_ns), back_ns = 0;
    *run_ns = 0;
    for (uint32_t i = 0; ordinal != thread->slice_end && i < servers->count; i++) {
        uint64_t began_ns,
            at_ns = servers->places[i].server == server && may_be_asked(&servers->places[i])
            ? back_at(search, &servers->places[i], ordinal, &began_ns)
            : 0;
        if (!at_ns || (back_ns && back_ns <= at_ns))
            continue;
        back_ns = at_ns;
        *run_ns = began_ns;
    }
    return back_ns;
}

static bool is_answer_on(struct search *search, const struct wp_slice *slice, uint32_t stream)
{
    search->looks++;
    return stream_of(slice) == stream && slice->wake_ns && !(slice->flags & WP_SLICE_PREEMPTED);
}

/* Who last answered the thread on that stream, as it slept, or where nobody has yet, who does next; 0: nobody that is
 * known. */
static uint32_t answers_on(struct search *search, uint32_t stream)
{
    const struct wp_thread *thread = &search->x->timeline->threads[search->thread];
    uint64_t ordinal = wp_thread_find(thread, search->first->out_ns), next = ordinal;
    for (uint32_t i = 0; ordinal != thread->slice_end && ordinal-- > thread->first_slice && i < ANSWER_LIMIT; i++)
        if (is_answer_on(search, wp_thread_slice(thread, ordinal), stream))
            return wp_thread_slice(thread, ordinal)->waker;
    for (uint32_t i = 0; next != thread->slice_end && ++next < thread->slice_end && i < ANSWER_LIMIT; i++) {
        const struct wp_slice *slice = wp_thread_slice(thread, next);
        if (slice->out_ns > wp_explain_horizon(search->x) || slice->wake_ns > wp_explain_horizon(search->x))
            break;
        if (is_answer_on(search, slice, stream))
            return slice->waker;
    }
    return 0;
}

/* That server was awake as the thread wrote a request, and has read it since. */
static bool is_read_by(struct search *search, const struct servers *servers, uint32_t server,
    const struct wp_turn *request, struct wp_unheard *found)
{
    const struct wp_explainer *x = search->x;
    struct wp_turn read;
    uint64_t run_ns;
    if (!server ||
        !wp_turns_first_read(&x->timeline->messages.turns, server, request->connection, request->time_ns, &read) ||
        read.time_ns > wp_explain_horizon(x))
        return false;
    uint64_t back_ns = waits_at(search, servers, server, read.time_ns, &run_ns);
    uint64_t written_ns = written_at(x, server, request->connection, read.time_ns, back_ns);
    uint64_t until_ns = written_ns ? written_ns : back_ns;
    if (until_ns < search->first->wake_ns ||
        (!written_ns && !is_awake(x, search->thread, search->first, until_ns, run_ns)))
        return false;
    *found = (struct wp_unheard){request->time_ns, until_ns, server, request->connection, !written_ns};
    return true;
}

/* What the thread last wrote on a stream by that sleep woke nobody: is it answered behind that? */
static bool is_unread(struct search *search, const struct servers *servers, uint64_t by_ns, struct wp_unheard *found)
{
    const struct wp_explainer *x = search->x;
    struct wp_turn request;
    if (!wp_turns_last_written(&x->timeline->messages.turns, search->thread, by_ns, &request) ||
        request.time_ns <= found->asked_ns || wp_explain_is_too_old(x, request.time_ns))
        return false;
    bool is_found = is_read_by(search, servers, answers_on(search, request.connection), &request, found);
    for (uint32_t i = 0; i < servers->count && !is_found; i++)
        is_found = is_read_by(search, servers, servers->places[i].server, &request, found);
    return is_found;
}

/* --- threads of the same process --- */

static uint32_t process_of(const struct wp_explainer *x, uint32_t thread)
{
    return x->timeline->identities[x->timeline->threads[thread].identity].process;
}

/* When the thread last ended a sleep of that mate of its before then, and where: it waited for several, or for work. 0:
 * not among its last ones. */
static uint64_t mate_asked(struct search *search, uint32_t mate, uint64_t before_ns, struct wp_asked_place *place)
{
    const struct wp_thread *thread = &search->x->timeline->threads[mate];
    bool is_mate = mate && process_of(search->x, mate) == process_of(search->x, search->thread);
    uint64_t ordinal = is_mate ? wp_thread_find(thread, before_ns) : thread->slice_end;
    for (uint32_t i = 0; ordinal != thread->slice_end && i < ASLEEP_LIMIT; i++, ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        search->looks++;
        if (slice->wake_ns && slice->wake_ns <= before_ns && !(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_BORN)) &&
            wp_explain_waker(search->x, slice) == search->thread) {
            *place = (struct wp_asked_place){mate, slice->stack, slice->syscall};
            bool is_place = may_be_asked(place) || (slice->stack && slice->syscall == WP_CALL_FUTEX + 1);
            return is_place ? slice->wake_ns : 0;
        }
        if (ordinal == thread->first_slice)
            break;
    }
    return 0;
}

static bool is_among(const struct wp_asked_place *places, uint32_t count, uint32_t server)
{
    for (uint32_t i = 0; i < count; i++)
        if (places[i].server == server)
            return true;
    return false;
}

/* Of the threads of its own process that it woke last before then, the places where they slept. Who is woken again and
 * again has one row, with the time of the last waking: that may come later, and must not matter. */
static uint32_t mates_asked(struct search *search, uint64_t before_ns, struct wp_asked_place places[MATE_LIMIT])
{
    const struct wp_woken_list *list = wp_woken_by(&search->x->timeline->woken, search->thread);
    if (!list)
        return 0;
    uint64_t i = wp_woken_since(list, before_ns);
    uint64_t last_ns = i > list->ring.first ? wp_woken_at(list, i - 1)->time_ns : 0;
    uint32_t again = i < list->ring.end ? wp_woken_at(list, i)->thread : list->last.thread;
    uint32_t count = mate_asked(search, again, before_ns, &places[0]) > last_ns;
    for (uint32_t looks = 0; i-- > list->ring.first && looks < WOKEN_LIMIT && count < MATE_LIMIT; looks++) {
        uint32_t mate = wp_woken_at(list, i)->thread;
        if (!is_among(places, count, mate) && mate_asked(search, mate, before_ns, &places[count]))
            count++;
    }
    return count;
}

/* --- the last request --- */

bool wp_explain_unheard(
    const struct wp_explainer *x, uint32_t thread, const struct wp_slice *first, struct wp_unheard *found)
{
    struct wp_asked_place mates[MATE_LIMIT];
    struct servers servers;
    struct wp_unheard last = {0};
    struct search search = {.x = x, .thread = thread, .first = first};
    uint64_t by_ns = first->out_ns + x->options.fit_ns;
    servers.count = wp_clients_places(&x->timeline->clients, thread, by_ns, servers.places);
    uint32_t mate_count = mates_asked(&search, by_ns, mates);
    bool is_found = false;
    for (uint32_t i = 0; i < servers.count; i++)
        is_found |= may_be_asked(&servers.places[i]) && is_outstanding(&search, &servers.places[i], &last);
    for (uint32_t i = 0; i < mate_count; i++)
        is_found |= is_outstanding(&search, &mates[i], &last);
    is_found |= is_unread(&search, &servers, by_ns, &last);
    x->fleet->visits += search.looks / LOOKS_A_VISIT;
    if (is_found)
        *found = last;
    return is_found;
}

/* Since when the server has not slept at that place up to then, where another one had asked it; 0: it did not, or that
 * is not known. */
static uint64_t away_since(struct search *search, const struct wp_asked_place *place, uint64_t at_ns)
{
    const struct wp_thread *server = &search->x->timeline->threads[place->server];
    uint64_t ordinal = wp_thread_find(server, at_ns);
    for (uint32_t i = 0; ordinal != server->slice_end && i < SERVER_LIMIT; i++, ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(server, ordinal);
        search->looks++;
        if (is_at(slice, place)) {
            uint32_t by = wp_explain_waker(search->x, slice);
            return by && by != search->thread && slice->wake_ns <= at_ns ? slice->wake_ns : 0;
        }
        if (ordinal == server->first_slice)
            break;
    }
    return 0;
}

uint64_t wp_explain_busy_since(const struct wp_explainer *x, uint32_t thread, const struct wp_slice *end)
{
    struct wp_asked_place places[WP_CLIENT_SERVERS];
    struct search search = {.x = x, .thread = thread, .first = end};
    uint32_t count = end->cause_d ? 0 : wp_clients_places(&x->timeline->clients, thread, end->wake_ns, places);
    uint64_t since_ns = 0, answered_ns = count ? wp_explain_last_woken(x, thread, end->waker, end->wake_ns) : 0;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t away_ns = places[i].server == end->waker && may_be_asked(&places[i])
            ? away_since(&search, &places[i], end->wake_ns)
            : 0;
        since_ns = since_ns > away_ns ? since_ns : away_ns;
    }
    x->fleet->visits += search.looks / LOOKS_A_VISIT;
    if (!since_ns || wp_explain_is_too_old(x, since_ns))
        return 0;
    return since_ns > answered_ns ? since_ns : answered_ns;
}

/* --- what may be outstanding, unseen --- */

/* Of a sleep that a task ended, in the same call and by a way of which no writes are recorded: that task, if it may
 * have answered. *is_end: it is such a sleep. */
static uint32_t answerer(struct search *search, const struct wp_slice *slice, bool *is_end)
{
    const struct wp_explainer *x = search->x;
    search->looks++;
    *is_end = slice->cause == WP_CAUSE_TASK && slice->waker && slice->wake_ns && !(slice->flags & WP_SLICE_PREEMPTED) &&
        slice->syscall == search->first->syscall;
    bool is_answer = *is_end && !slice->cause_d && slice->waker != search->thread && !wp_slice_signal(slice) &&
        !wp_explain_is_kernel(x, slice->waker) && !wp_explain_is_too_old(x, slice->wake_ns);
    return is_answer ? slice->waker : 0;
}

/* Who last ended a wait of the thread so before that sleep, or where nobody has yet, who does next; 0: nobody. */
static uint32_t nearest_answerer(struct search *search)
{
    const struct wp_explainer *x = search->x;
    const struct wp_thread *thread = &x->timeline->threads[search->thread];
    uint64_t ordinal = wp_thread_find(thread, search->first->out_ns), next = ordinal;
    bool is_end = false;
    uint32_t server = 0;
    if (ordinal == thread->slice_end)
        return 0;
    for (uint32_t i = 0; !is_end && ordinal-- > thread->first_slice && i < ANSWER_LIMIT; i++)
        server = answerer(search, wp_thread_slice(thread, ordinal), &is_end);
    for (uint32_t i = 0; !is_end && ++next < thread->slice_end && i < ANSWER_LIMIT; i++) {
        const struct wp_slice *slice = wp_thread_slice(thread, next);
        if (slice->out_ns > wp_explain_horizon(x) || slice->wake_ns > wp_explain_horizon(x))
            break;
        server = answerer(search, slice, &is_end);
    }
    return server;
}

bool wp_explain_may_be_owed(const struct wp_explainer *x, uint32_t thread, const struct wp_slice *first)
{
    struct search search = {.x = x, .thread = thread, .first = first};
    uint32_t server = wp_wait_is_choosing(first) ? nearest_answerer(&search) : 0;
    const struct wp_thread *at = &x->timeline->threads[server];
    uint64_t ordinal = server ? wp_thread_find(at, first->out_ns) : 0;
    x->fleet->visits += search.looks / LOOKS_A_VISIT;
    if (!server || ordinal == at->slice_end || wp_thread_is_dead(at, first->out_ns))
        return false;
    const struct wp_slice *slice = wp_thread_slice(at, ordinal);
    bool is_on_list = slice->syscall == WP_CALL_FUTEX + 1 && !wp_slice_holder(slice);
    bool is_idle = slice->out_ns <= first->out_ns && (!slice->wake_ns || slice->wake_ns >= first->wake_ns) &&
        (wp_wait_is_reading(slice) || wp_wait_is_choosing(slice) || is_on_list) && !(slice->flags & WP_SLICE_PREEMPTED);
    return !is_idle;
}
