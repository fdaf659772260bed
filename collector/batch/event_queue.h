/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_BATCH_EVENT_QUEUE_H
#define WP_COLLECTOR_BATCH_EVENT_QUEUE_H
/* Events that wait to be certain; they come nearly in order and leave in order. Embedded: init with {0}. */
#include "proto/event.h"

#include <stddef.h>

/* The waiting events, the sorted ones first; `count` to `room` is free. */
struct wp_event_queue {
    struct wp_event *events, *spare; /* owned */
    size_t count, room, sorted;      /* sorted: how many at the start are in order */
};

/* Frees the memory and discards all events; the queue is then empty and usable. A zeroed one is allowed. */
void wp_event_queue_fini(struct wp_event_queue *queue);
/* Room for one more event, to be filled and then taken in; NULL: out of memory. */
struct wp_event *wp_event_queue_grow(struct wp_event_queue *queue);
/* As wp_event_queue_grow, without a call when there is room. The event is not initialized. */
static inline struct wp_event *wp_event_queue_next(struct wp_event_queue *queue)
{
    return queue->count < queue->room ? &queue->events[queue->count] : wp_event_queue_grow(queue);
}
/* Takes it in. */
void wp_event_queue_place(struct wp_event_queue *queue);
/* Fills it with `from`, but for the ids of threads and the stack. Field by field: each of `from` was written by itself
 * a moment ago, and a load of several together waits until those have left the processor's store buffer. Volatile, as
 * the compiler would join them. */
static inline void wp_event_queue_fill(struct wp_event *event, const volatile struct wp_event *from)
{
    event->time_ns = from->time_ns;
    event->kind = from->kind;
    event->flags = from->flags;
    event->cpu = from->cpu;
    event->thread = event->other = event->stack = 0;
    event->a = from->a;
    event->b = from->b;
    event->c = from->c;
    event->d = from->d;
    event->wait = from->wait;
    event->reserved = 0;
}
/* Takes in the event that wp_event_queue_next returned, after the caller has filled it. */
static inline void wp_event_queue_added(struct wp_event_queue *queue)
{
    size_t at = queue->count;
    if (queue->sorted == at && at && queue->events[at - 1].time_ns <= queue->events[at].time_ns)
        queue->count = queue->sorted = at + 1; /* most come so */
    else
        wp_event_queue_place(queue);
}
/* By time; equal times stay in the order they came. -ENOMEM. */
int wp_event_queue_sort(struct wp_event_queue *queue);
/* How many are before `time_ns`; the queue is sorted. */
size_t wp_event_queue_before(const struct wp_event_queue *queue, uint64_t time_ns);
/* Rounds the times of the first `count` down to a multiple of `resolution_ns`, a power of two. Their order stays. */
void wp_event_queue_round_down(struct wp_event_queue *queue, size_t count, uint64_t resolution_ns);
/* Drops the first `count`. */
void wp_event_queue_take(struct wp_event_queue *queue, size_t count);

#endif
