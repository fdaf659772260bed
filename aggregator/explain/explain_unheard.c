/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_unheard.h"

#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_client.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/timeline/slices.h"

#define LOOKS_A_VISIT 32u /* what they cost of the budget */
#define SERVER_LIMIT 256u /* slices of the server that are looked at, on either side of the sleep */
#define ANSWER_LIMIT 256u /* of the thread, for an answer before */

/* A thread, its sleep, and how much was looked at for what may be outstanding. */
struct search {
    const struct wp_explainer *x;
    uint32_t thread, looks;
    const struct wp_slice *first;
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

/* Has that server ended a wait of the thread before? Who only hands work on does not wait for it. */
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
        return (wp_wait_is_reading(slice) || wp_wait_is_choosing(slice)) && !wp_explain_is_too_old(x, slice->wake_ns);
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

static bool is_outstanding(struct search *search, const struct wp_asked_place *place, struct wp_unheard *found)
{
    const struct wp_explainer *x = search->x;
    const struct wp_slice *first = search->first;
    const struct wp_thread *server = &x->timeline->threads[place->server];
    uint64_t run_ns, ordinal = asked_at(search, place);
    if (ordinal == server->slice_end)
        return false;
    uint64_t asked_ns = wp_thread_slice(server, ordinal)->wake_ns, until_ns = back_at(search, place, ordinal, &run_ns);
    if (until_ns < first->wake_ns || asked_ns <= found->asked_ns || wp_explain_is_too_old(x, asked_ns) ||
        !is_awake(x, search->thread, first, until_ns, run_ns) || !has_answered(search, place->server))
        return false;
    *found = (struct wp_unheard){asked_ns, until_ns, place->server};
    return true;
}

bool wp_explain_unheard(
    const struct wp_explainer *x, uint32_t thread, const struct wp_slice *first, struct wp_unheard *found)
{
    struct wp_asked_place places[WP_CLIENT_SERVERS];
    struct wp_unheard last = {0};
    struct search search = {.x = x, .thread = thread, .first = first};
    uint32_t count = wp_clients_places(&x->timeline->clients, thread, first->out_ns + x->options.fit_ns, places);
    bool is_found = false;
    for (uint32_t i = 0; i < count; i++) {
        bool may_be_asked = places[i].syscall &&
            (wp_wait_is_reading(&(struct wp_slice){.syscall = places[i].syscall & WP_SLICE_SYSCALL}) ||
                wp_wait_is_choosing(&(struct wp_slice){.syscall = places[i].syscall & WP_SLICE_SYSCALL}));
        is_found |= may_be_asked && is_outstanding(&search, &places[i], &last);
    }
    x->fleet->visits += search.looks / LOOKS_A_VISIT;
    if (is_found)
        *found = last;
    return is_found;
}
