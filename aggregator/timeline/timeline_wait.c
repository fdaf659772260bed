/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/timeline/timeline_wait.h"

#include "aggregator/net/message_datagrams.h"
#include "aggregator/timeline/memory_shares.h"
#include "aggregator/timeline/timeline_cpus.h"
#include "common/array.h"

#include <stdlib.h>
#include <string.h>

/* Numbers of system calls, of x86-64 as all are here. */
#define FUTEX 202u
#define EPOLL_WAIT 232u
#define EPOLL_PWAIT 281u
#define EPOLL_PWAIT2 441u

#define WAITS 65536u /* a slice has two bytes for it */

/* They are asked of each sleep, and names stay what they are. */
static uint32_t kinds_of(const char *name)
{
    bool is_memory = !strncmp(name, WP_MEMORY_GROUP, strlen(WP_MEMORY_GROUP));
    return (is_memory ? WP_WAIT_MEMORY : 0) | (!strncmp(name, "unix", 4) ? WP_WAIT_STREAM : 0);
}

uint16_t wp_timeline_set_wait(struct wp_timeline *timeline, uint32_t string)
{
    struct wp_intkey key = {string, 0};
    uint32_t number;
    if (!string)
        return 0;
    if (string == timeline->last_wait)
        return timeline->last_wait_number;
    if (wp_intmap_get(&timeline->wait_of_string, key, &number)) {
        timeline->last_wait = string;
        return timeline->last_wait_number = (uint16_t)number;
    }
    if (timeline->wait_count >= WAITS)
        return 0;
    number = timeline->wait_count ? timeline->wait_count : 1;
    if (WP_ARRAY_FIT_ZERO(timeline->waits, timeline->wait_room, number + 1) ||
        wp_intmap_put(&timeline->wait_of_string, key, number))
        return 0;
    timeline->waits[number] =
        (struct wp_wait_name){string, kinds_of(wp_dictionary_string(timeline->dictionary, string))};
    timeline->wait_count = number + 1;
    return (uint16_t)number;
}

/* Keys of requests and datagrams are used again: what one means is asked at once, not when the sleep is explained. */
static uint64_t cause_of(const struct wp_timeline *timeline, const struct wp_event *event)
{
    if (event->c == WP_CAUSE_BLOCK)
        return wp_blockops_number(&timeline->blockops, event->d, event->a);
    if (event->c == WP_CAUSE_MESSAGE)
        return wp_messages_position(&timeline->messages, event->d, event->a);
    if (event->c == WP_CAUSE_TASK)
        return event->a < WP_SIGNALS ? event->a : 0;
    return event->a;
}

struct wp_waking wp_timeline_waking(
    struct wp_timeline *timeline, const struct wp_event *event, uint32_t waker, uint32_t target)
{
    bool in_irq = event->flags & (WP_CONTEXT_HARDIRQ | WP_CONTEXT_SOFTIRQ | WP_CONTEXT_NMI);
    uint64_t cause = cause_of(timeline, event);
    uint32_t by = event->c == WP_CAUSE_MESSAGE ? wp_messages_datagram_sender(&timeline->messages, event->d, cause)
        : event->c == WP_CAUSE_TASK && !in_irq ? waker
                                               : 0;
    if (by && by != target)
        wp_woken_add(&timeline->woken, by, target, event->time_ns);
    return (struct wp_waking){.time_ns = event->time_ns,
        .a = cause,
        .waker = waker,
        .d = event->d,
        .by = by,
        .stack = event->stack,
        .wait = event->wait ? wp_timeline_set_wait(timeline, event->wait) : 0,
        .cause = (uint8_t)event->c,
        .in_irq = in_irq};
}

static uint32_t process_of(const struct wp_timeline *timeline, uint32_t thread)
{
    return timeline->identities[timeline->threads[thread].identity].process;
}

static void note_client(struct wp_timeline *timeline, const struct wp_thread *thread, const struct wp_slice *slice,
    const struct wp_waking *waking)
{
    struct wp_asked_place place = {
        .server = (uint32_t)(thread - timeline->threads), .stack = slice->stack, .syscall = slice->syscall};
    if (waking->by && slice->syscall && !(slice->flags & (WP_SLICE_PREEMPTED | WP_SLICE_BORN)) &&
        process_of(timeline, waking->by) != process_of(timeline, place.server))
        wp_clients_ask(&timeline->clients, waking->by, &place, waking->time_ns);
}

static bool is_in_loop(const struct wp_slice *slice)
{
    unsigned call = slice->syscall;
    return call == EPOLL_WAIT + 1 || call == EPOLL_PWAIT + 1 || call == EPOLL_PWAIT2 + 1;
}

/*
 * A runtime has one of its threads wait for the connections of all: who asks then wakes that one, so that it looks at
 * its timers anew, and is parked itself. Where the answer is due for which the loop's sleep was, socket + 1; 0:
 * nowhere.
 */
static uint32_t asked_for_another(
    const struct wp_timeline *timeline, const struct wp_thread *thread, const struct wp_slice *slice, uint64_t now_ns)
{
    if (!is_in_loop(slice) || wp_thread_last(thread) != slice || thread->slice_end - thread->first_slice < 2)
        return 0;
    const struct wp_slice *before = wp_thread_slice(thread, thread->slice_end - 2);
    uint32_t asker = before->waker, self = (uint32_t)(thread - timeline->threads);
    if (!asker || asker == self || process_of(timeline, asker) != process_of(timeline, self))
        return 0;
    const struct wp_slice *parked = wp_thread_last(&timeline->threads[asker]);
    return parked && !parked->in_ns && parked->syscall == FUTEX + 1
        ? wp_asked_since(&timeline->messages.asked, asker, before->out_ns, now_ns)
        : 0;
}

/* A timer ended the sleep of a thread that had asked, or of the loop that waits for who has. What another thread of its
 * pool was answered meanwhile is not outstanding any more. */
static void note_silence(struct wp_timeline *timeline, const struct wp_thread *thread, struct wp_slice *slice)
{
    uint32_t self = (uint32_t)(thread - timeline->threads);
    uint32_t due = slice->is_asking ? wp_asked_last(&timeline->messages.asked, self, slice->out_ns)
                                    : asked_for_another(timeline, thread, slice, slice->wake_ns);
    if (!slice->is_asking && !due)
        return;
    slice->is_asking = due != 0;
    slice->cause_a = due;
}

void wp_timeline_wake(struct wp_timeline *timeline, const struct wp_thread *thread, struct wp_slice *slice,
    const struct wp_waking *waking)
{
    bool is_runnable = slice->flags & WP_SLICE_PREEMPTED; /* what it ran for, and why it does not, stays */
    uint64_t held = waking->cause == WP_CAUSE_TASK && slice->cause_a & WP_SLICE_HELD ? slice->cause_a & ~0xffull : 0;
    note_client(timeline, thread, slice, waking);
    slice->wake_ns = waking->time_ns;
    slice->waker = waking->waker;
    slice->cause = waking->cause & 7u;
    slice->cause_a = is_runnable ? slice->cause_a : held | waking->a;
    if (!is_runnable && slice->cause == WP_CAUSE_TIMER)
        note_silence(timeline, thread, slice);
    slice->cause_d = waking->d;
    slice->wait = waking->wait ? waking->wait : slice->wait;
    slice->stack = waking->stack && !is_runnable ? waking->stack : slice->stack;
    slice->flags |= waking->in_irq ? WP_SLICE_IN_IRQ : 0;
    if (!is_runnable)
        wp_timeline_cpu_wake(timeline, thread, slice);
}

void wp_timeline_wait_fini(struct wp_timeline *timeline)
{
    free(timeline->waits);
    wp_intmap_fini(&timeline->wait_of_string);
    wp_memory_shares_fini(&timeline->memory);
    wp_queue_quotas_fini(&timeline->queue_quotas);
}
