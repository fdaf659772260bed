/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/explain/explain_queue.h"

#include "aggregator/explain/explain_call.h"
#include "aggregator/explain/explain_origin.h"
#include "aggregator/explain/explain_place.h"
#include "aggregator/explain/explain_shared.h"
#include "aggregator/timeline/slices.h"

#include <string.h>

#define STEP_LIMIT 1024u /* slices of the waker that are looked at for one sleep ... */
#define WAKING_LIMIT 64u /* ... and wakings by it */
#define ORIGIN_LIMIT                                                                                                   \
    8u /* ... of which so many may have been woken by others: whose work those did is followed back                    \
        */
#define STACK_LIMIT 512u

#define SYSCALL_FUTEX 202

uint64_t wp_explain_answer_end(const struct wp_thread *server, uint64_t at_ns, uint64_t fit_ns)
{
    uint64_t ordinal = wp_thread_find(server, at_ns);
    if (ordinal == server->slice_end || wp_thread_slice(server, ordinal)->in_ns > at_ns)
        return at_ns;
    while (++ordinal < server->slice_end) {
        const struct wp_slice *slice = wp_thread_slice(server, ordinal);
        bool is_in_call = wp_wait_is_sending(slice) || slice->syscall == SYSCALL_FUTEX + 1;
        if (!(slice->flags & WP_SLICE_PREEMPTED) || !is_in_call || slice->out_ns > at_ns + fit_ns || !slice->in_ns)
            break;
        at_ns = slice->in_ns;
    }
    return at_ns;
}

/* Is the place where it slept known down to the program's own functions? In the kernel all who read a pipe sleep at one
 * place. */
static bool has_own_functions(const struct wp_explainer *x, uint32_t stack)
{
    const struct wp_stack_entry *entry = wp_dictionary_stack(x->timeline->dictionary, stack);
    for (uint32_t i = 0; entry && entry->parent && i < STACK_LIMIT; i++)
        entry = wp_dictionary_stack(x->timeline->dictionary, entry->parent);
    const struct wp_frame_entry *frame = entry ? wp_dictionary_frame(x->timeline->dictionary, entry->frame) : NULL;
    return frame && !frame->is_kernel;
}

/* The sleep of that thread which the waker ended then was for the same as this one, as far as the place tells. */
static bool is_alike(const struct wp_explainer *x, const struct wp_wait *wait, const struct wp_woken_one *woken)
{
    const struct wp_thread *thread = &x->timeline->threads[woken->thread];
    uint64_t ordinal = wp_thread_find(thread, woken->time_ns);
    if (ordinal == thread->slice_end)
        return false;
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
    return slice->wake_ns == woken->time_ns && slice->waker == wait->slice->waker &&
        slice->stack == wait->slice->stack && slice->syscall == wait->slice->syscall &&
        !(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_BORN));
}

static bool is_kernel_thread(const struct wp_explainer *x, uint32_t thread)
{
    const struct wp_timeline *timeline = x->timeline;
    const struct wp_thread_entry *entry =
        wp_dictionary_thread(timeline->dictionary, timeline->identities[timeline->threads[thread].identity].entry);
    return entry && entry->flags & WP_THREAD_KERNEL;
}

/* Is it explained, itself or for whom it waits? What is recorded meanwhile is repeated for those of whom the same
 * holds. */
static bool is_layer(const struct wp_explainer *x, uint32_t thread)
{
    bool is_found = false;
    for (uint32_t i = x->depth; i-- > 0 && !is_found;)
        is_found = x->layers[i].host == x->host && x->layers[i].thread == thread;
    if (x->recording && !is_found)
        wp_shared_met(x, thread);
    else if (x->recording && wp_shared_is_below(x, thread))
        wp_shared_refuse(x, true);
    return is_found;
}

/* The waker slept so amid what it did for one: it waited by itself, or for what it had asked others for. */
static bool goes_on(const struct wp_explainer *x, uint32_t waker, const struct wp_slice *slice, uint32_t *origins)
{
    switch (slice->cause) {
    case WP_CAUSE_TASK:
        if (!slice->waker || slice->waker == waker || is_kernel_thread(x, slice->waker))
            return true;
        return !is_layer(x, slice->waker) && ++*origins <= ORIGIN_LIMIT &&
            wp_explain_origin(x, &(struct wp_layer){.host = x->host, .thread = waker}, 1, slice->waker, slice->wake_ns)
                .origin == WP_ORIGIN_PATH;
    case WP_CAUSE_MESSAGE:
        return wp_messages_asked(&x->timeline->messages, slice->cause_d, slice->wake_ns) != 0;
    default:
        return true;
    }
}

/* Since when the waker may have worked for the sleeper: then it was woken by somebody. */
static uint64_t turned_ns(const struct wp_explainer *x, uint32_t waker, uint64_t from_ns, uint64_t to_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[waker];
    uint64_t ordinal = wp_thread_find(thread, to_ns - 1);
    if (ordinal == thread->slice_end)
        return to_ns;
    for (uint32_t i = 0, origins = 0; i < STEP_LIMIT; i++, ordinal--) {
        const struct wp_slice *slice = wp_thread_slice(thread, ordinal);
        bool is_continued = slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_RENAME) ||
            (slice->wake_ns && !(slice->flags & (WP_SLICE_BORN | WP_SLICE_EXEC)) && goes_on(x, waker, slice, &origins));
        if (slice->in_ns <= from_ns || !is_continued || slice->flags & WP_SLICE_FIRST || ordinal == thread->first_slice)
            return slice->in_ns;
    }
    return to_ns;
}

/* Did the thread go back to sleep in the same call at once? Who reads a unix socket is woken by the other end's read of
 * what it had sent as well, for that makes room, and finds nothing. */
static bool is_in_vain(const struct wp_explainer *x, uint32_t index, uint64_t woken_ns)
{
    const struct wp_thread *thread = &x->timeline->threads[index];
    uint64_t ordinal = wp_thread_find(thread, woken_ns), ran = 0;
    if (ordinal == thread->slice_end)
        return false;
    const struct wp_slice *slice = wp_thread_slice(thread, ordinal), *next;
    const char *wait = wp_dictionary_string(x->timeline->dictionary, wp_timeline_wait(x->timeline, slice));
    if (slice->wake_ns != woken_ns || !wp_wait_is_reading(slice) || !wait || strncmp(wait, "unix", 4) != 0)
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

/* It lies before what counts. */
static bool is_too_old(const struct wp_explainer *x, uint64_t time_ns)
{
    bool is_old = time_ns <= wp_explain_oldest(x);
    if (x->recording)
        wp_shared_holds(
            x, is_old ? (int64_t)time_ns - 1 : -WP_SHARED_ALWAYS, is_old ? WP_SHARED_ALWAYS : (int64_t)time_ns - 1);
    return is_old;
}

/*
 * The last one like the sleeper that was woken before it, and for itself: those that are woken one right behind the
 * other waited for one thing. Where the sleeper itself was woken in vain, its request was read then.
 */
static bool find_served(
    const struct wp_explainer *x, const struct wp_wait *wait, const struct wp_woken_list *list, struct wp_queue *queue)
{
    uint64_t together = wait->slice->wake_ns, i = wp_woken_since(list, together), apart = 0;
    for (uint32_t steps = 0; i-- > list->ring.first && steps < WAKING_LIMIT; steps++) {
        const struct wp_woken_one *woken = wp_woken_at(list, i);
        *queue = (struct wp_queue){woken->time_ns, woken->thread};
        if (is_too_old(x, woken->time_ns))
            return false;
        if (is_layer(x, woken->thread))
            return woken->thread == wait->thread && is_in_vain(x, woken->thread, woken->time_ns);
        if (!steps)
            apart = is_in_vain(x, wait->thread, together) ? 0 : x->options.fit_ns;
        if (apart && woken->time_ns + apart >= together)
            together = woken->time_ns;
        else if (is_alike(x, wait, woken))
            return true;
    }
    return false;
}

bool wp_explain_queue(const struct wp_explainer *x, const struct wp_wait *wait, struct wp_queue *queue)
{
    const struct wp_slice *slice = wait->slice;
    const struct wp_woken_list *list = wp_woken_by(&x->timeline->woken, slice->waker);
    if (!list || list->ring.end == list->ring.first || !slice->stack || is_kernel_thread(x, slice->waker) ||
        !has_own_functions(x, slice->stack) || !find_served(x, wait, list, queue))
        return false;
    return turned_ns(x, slice->waker, queue->until_ns, slice->wake_ns) <= queue->until_ns;
}
