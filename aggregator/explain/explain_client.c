/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_client.h"

#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/explain/explain_shared.h"
#include "aggregator/net/message_datagrams.h"
#include "aggregator/timeline/slices.h"

#include <string.h>

#define SLEEP_LIMIT 1024u /* sleeps of the server after an answer that are looked at */
#define STACK_LIMIT 512u
#define ALIKE_LIMIT 32u /* wakings by the server that are looked at for clients like the sleeper */
#define OWED_LIMIT 64u  /* slices of one that are looked at for a waking by the other */

bool wp_explain_is_kernel(const struct wp_explainer *x, uint32_t thread)
{
    return wp_is_kernel_thread(x->timeline, x->timeline->threads[thread].identity);
}

bool wp_explain_is_too_old(const struct wp_explainer *x, uint64_t time_ns)
{
    bool is_old = time_ns <= wp_explain_oldest(x);
    if (x->recording)
        wp_shared_holds(
            x, is_old ? (int64_t)time_ns - 1 : -WP_SHARED_ALWAYS, is_old ? WP_SHARED_ALWAYS : (int64_t)time_ns - 1);
    return is_old;
}

uint32_t wp_explain_waker(const struct wp_explainer *x, const struct wp_slice *slice)
{
    if (slice->cause == WP_CAUSE_MESSAGE)
        return wp_messages_datagram_sender(&x->timeline->messages, slice->cause_d, slice->cause_a);
    return slice->cause == WP_CAUSE_TASK ? slice->waker : 0;
}

bool wp_explain_is_reading_stream(const struct wp_explainer *x, const struct wp_slice *slice)
{
    return wp_timeline_wait_is(x->timeline, slice, WP_WAIT_STREAM) && wp_wait_is_reading(slice);
}

bool wp_explain_is_in_vain(const struct wp_explainer *x, uint32_t index, uint64_t woken_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    uint64_t ordinal = wp_thread_find(thread, woken_ns), ran = 0;
    if (ordinal == thread->slice_end)
        return false;
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal), *next;
    if (slice->wake_ns != woken_ns || !wp_explain_is_reading_stream(x, slice))
        return false;
    do {
        slice = wp_thread_slice(thread, ordinal);
        if (!slice->in_ns || !slice->end_ns || ++ordinal == thread->slice_end)
            return false;
        ran += slice->end_ns - slice->in_ns;
        next = wp_thread_slice(thread, ordinal);
    } while (next->flags & WP_SLICE_PREEMPTED && ran < x->options.join_ns);
    return ran < x->options.join_ns && next->out_ns <= wp_explain_horizon(x) && next->stack == slice->stack &&
        next->syscall == slice->syscall;
}

/* --- asking, and answering --- */

/* Is the place where it slept known down to the program's own functions? In the kernel all who read a pipe sleep at one
 * place. */
static bool find_own_functions(const struct wp_explainer *x, uint32_t stack)
{
    const struct wp_stack_entry *entry = wp_dictionary_stack(x->timeline->dictionary, stack);
    for (uint32_t i = 0; entry && entry->parent && i < STACK_LIMIT; i++)
        entry = wp_dictionary_stack(x->timeline->dictionary, entry->parent);
    const struct wp_frame_entry *frame = entry ? wp_dictionary_frame(x->timeline->dictionary, entry->frame) : NULL;
    return frame && !frame->is_kernel;
}

bool wp_explain_has_own_functions(const struct wp_explainer *x, uint32_t stack)
{
    struct wp_own_place *known =
        &((struct wp_explainer *)(uintptr_t)x)->own_places[stack % WP_OWN_PLACES]; /* no part of what it explains */
    if (known->stack != stack || known->host != x->host)
        *known = (struct wp_own_place){.stack = stack, .host = x->host, .is_own = find_own_functions(x, stack)};
    return known->is_own;
}

static bool may_be_asked(const struct wp_slice *slice)
{
    return wp_wait_is_reading(slice) || wp_wait_is_choosing(slice);
}

/* The sleep of that thread which was ended then, or as it was about to begin; NULL: it was none, or it is forgotten. */
static const struct wp_slice *ended_at(const struct wp_explainer *x, uint32_t index, uint64_t woken_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    uint64_t ordinal = wp_thread_find(thread, woken_ns);
    if (ordinal == thread->slice_end)
        return NULL;
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    if (slice->wake_ns < woken_ns && ordinal + 1 < thread->slice_end) {
        slice = wp_thread_slice(thread, ordinal + 1);
        woken_ns = slice->out_ns - woken_ns <= WP_EARLY_WAKING_NS ? slice->out_ns : woken_ns;
    }
    bool is_sleep = slice->wake_ns == woken_ns && !(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_BORN));
    return is_sleep ? slice : NULL;
}

uint64_t wp_explain_last_woken(const struct wp_explainer *x, uint32_t index, uint32_t by, uint64_t before_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    uint64_t ordinal = wp_thread_find(thread, before_ns);
    for (uint32_t i = 0; ordinal != thread->slice_end && i < OWED_LIMIT; i++, ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        bool is_sleep = slice->wake_ns && !(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_BORN));
        if (is_sleep && slice->wake_ns < before_ns && wp_explain_waker(x, slice) == by)
            return slice->wake_ns;
        if (ordinal == thread->first_slice)
            break;
    }
    return 0;
}

/* Had the thread asked the server then, and had no answer yet, whether it slept for that already or was kept from it?
 */
static bool is_owed(const struct wp_explainer *x, uint32_t index, uint32_t server, uint64_t at_ns)
{
    return wp_explain_last_woken(x, server, index, at_ns) > wp_explain_last_woken(x, index, server, at_ns);
}

/* Did the thread wait for that server then? */
static bool is_waiting(const struct wp_explainer *x, uint32_t index, uint32_t server, uint64_t at_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    uint64_t ordinal = wp_thread_find(thread, at_ns);
    if (ordinal == thread->slice_end)
        return false;
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    return slice->out_ns <= at_ns && at_ns < slice->wake_ns && wp_explain_waker(x, slice) == server;
}

static bool has_slept_at(
    const struct wp_explainer *x, const struct wp_asked_place *place, uint64_t from_ns, uint64_t to_ns)
{
    const struct wp_thread *server = &x->timeline->threads[place->server];
    uint64_t ordinal = wp_thread_find(server, to_ns - 1);
    if (ordinal == server->slice_end)
        return true;
    for (uint32_t i = 0; i < SLEEP_LIMIT; i++, ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(server, ordinal);
        bool is_there = slice->stack == place->stack && slice->syscall == place->syscall;
        if (is_there && slice->wake_ns > from_ns && !(slice->flags & WP_SLICE_PREEMPTED))
            return true;
        if (slice->out_ns <= from_ns || ordinal == server->first_slice)
            return slice->out_ns > from_ns;
    }
    return true;
}

/* The server slept then, until `by` woke it, and owed another one an answer. */
static bool owes_others(const struct wp_explainer *x, uint32_t server, uint32_t by, uint64_t at_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[server];
    uint64_t ordinal = wp_thread_find(thread, at_ns);
    for (uint32_t i = 0; ordinal != thread->slice_end && i < OWED_LIMIT; i++, ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        uint32_t asks = slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_BORN) ? 0 : wp_explain_waker(x, slice);
        if (asks && asks != by && asks != server && slice->wake_ns < at_ns && !wp_explain_is_kernel(x, asks))
            return wp_explain_last_woken(x, asks, server, at_ns) < slice->wake_ns;
        if (ordinal == thread->first_slice)
            break;
    }
    return false;
}

enum found { FOUND_NOWHERE, FOUND_ELSEWHERE, FOUND_THERE };

/* Has that client found the server asleep, and there or elsewhere? */
static enum found has_found(
    const struct wp_explainer *x, uint32_t client, const struct wp_asked_place *place, uint64_t before_ns)
{
    struct wp_asked_place places[WP_CLIENT_SERVERS];
    uint32_t count = wp_clients_places(&x->timeline->clients, client, before_ns, places);
    enum found found = FOUND_NOWHERE;
    for (uint32_t i = 0; i < count && found != FOUND_THERE; i++)
        if (places[i].server == place->server)
            found = wp_asked_place_is(&places[i], place) ? FOUND_THERE : FOUND_ELSEWHERE;
    return found;
}

/* The same of clients that sleep for an answer at the same place as the sleeper: they wait for the same service. */
static enum found have_alike_found(
    const struct wp_explainer *x, const struct wp_wait *wait, const struct wp_asked_place *place, uint32_t by)
{
    const struct wp_woken_list *list = wp_woken_by(&x->timeline->woken, place->server);
    uint64_t before_ns = wait->slice->wake_ns, i = list ? wp_woken_since(list, before_ns) : 0;
    enum found found = FOUND_NOWHERE;
    if (!wp_explain_has_own_functions(x, wait->slice->stack))
        return found;
    for (uint32_t looks = 0; list && i-- > list->ring.first && looks < ALIKE_LIMIT && found != FOUND_THERE; looks++) {
        const struct wp_woken_one *woken = wp_woken_at(list, i);
        const struct wp_slice *slice = woken->thread != by ? ended_at(x, woken->thread, woken->time_ns) : NULL;
        bool is_alike = slice && slice->stack == wait->slice->stack && slice->syscall == wait->slice->syscall;
        enum found one = is_alike ? has_found(x, woken->thread, place, before_ns) : FOUND_NOWHERE;
        found = one > found ? one : found;
    }
    return found;
}

/* That thread brings the server what it waits for amid its work. Where it waits for work the sleeper has found it, too,
 * or one like that; if that is not known, it owes nobody an answer there. */
static bool is_helper(const struct wp_explainer *x, const struct wp_wait *wait, const struct wp_asked_place *place,
    uint32_t by, uint64_t asked_ns)
{
    enum found found = has_found(x, wait->thread, place, wait->slice->wake_ns);
    if (found == FOUND_NOWHERE)
        found = have_alike_found(x, wait, place, by);
    return found == FOUND_ELSEWHERE || (found == FOUND_NOWHERE && owes_others(x, place->server, by, asked_ns));
}

static uint32_t process_of(const struct wp_explainer *x, uint32_t thread)
{
    return x->timeline->identities[x->timeline->threads[thread].identity].process;
}

enum wp_client_answer wp_explain_answered_client(
    const struct wp_explainer *x, const struct wp_wait *wait, uint32_t server, const struct wp_woken_one *woken)
{
    const struct wp_slice *slice = ended_at(x, woken->thread, woken->time_ns);
    struct wp_asked_place place = {0};
    uint64_t since_ns = wait->slice->out_ns < woken->time_ns ? wait->slice->out_ns : woken->time_ns;
    if (!slice || !may_be_asked(slice) || wp_explain_is_kernel(x, woken->thread) ||
        wp_explain_is_in_vain(x, woken->thread, woken->time_ns))
        return WP_CLIENT_NO;
    uint64_t asked_ns = wp_clients_asked(&x->timeline->clients, woken->thread, server, woken->time_ns, &place);
    if (!asked_ns || wp_explain_is_too_old(x, asked_ns)) {
        bool is_heard = wp_explain_last_woken(x, server, woken->thread, wait->slice->wake_ns) > woken->time_ns;
        return is_heard || process_of(x, woken->thread) == process_of(x, server) ? WP_CLIENT_NO : WP_CLIENT_MAYBE;
    }
    bool is_client = may_be_asked(&(struct wp_slice){.syscall = place.syscall & WP_SLICE_SYSCALL}) &&
        !is_waiting(x, wait->thread, server, asked_ns) && !is_owed(x, wait->thread, server, asked_ns) &&
        !is_helper(x, wait, &place, woken->thread, asked_ns) &&
        !has_slept_at(x, &place, since_ns, wait->slice->wake_ns);
    return is_client ? WP_CLIENT_YES : WP_CLIENT_NO;
}
