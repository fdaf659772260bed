/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/event_queue.h"

#include "common/array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RUN 16u                 /* shorter runs are sorted in place */
#define NEAR 64u                /* how far an event is moved when it comes */
#define LEAST ((size_t)1 << 17) /* room that stays, of events */

void wp_event_queue_fini(struct wp_event_queue *q)
{
    free(q->events);
    free(q->spare);
    *q = (struct wp_event_queue){0};
}

struct wp_event *wp_event_queue_grow(struct wp_event_queue *q)
{
    size_t room = q->room ? q->room * 2 : 8192;
    struct wp_event *events = realloc(q->events, room * sizeof(*events));
    if (!events)
        return NULL;
    q->events = events;
    q->room = room;
    free(q->spare);
    q->spare = NULL;
    return &q->events[q->count];
}

void wp_event_queue_place(struct wp_event_queue *q)
{
    size_t at = q->count++;
    if (q->sorted < at) /* the rest is sorted at once, later */
        return;
    /* Two processors' records change places here and there: the place is near. */
    struct wp_event event = q->events[at];
    size_t least = at > NEAR ? at - NEAR : 0, place = at;
    while (place > least && q->events[place - 1].time_ns > event.time_ns)
        place--;
    if (place && q->events[place - 1].time_ns > event.time_ns)
        return;
    if (place < at)
        memmove(q->events + place + 1, q->events + place, (at - place) * sizeof(*q->events));
    q->events[place] = event;
    q->sorted++;
}

static void sort_run(struct wp_event *events, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        struct wp_event event = events[i];
        size_t at = i;
        for (; at && events[at - 1].time_ns > event.time_ns; at--)
            events[at] = events[at - 1];
        events[at] = event;
    }
}

static void merge(const struct wp_event *from, size_t low, size_t middle, size_t high, struct wp_event *to)
{
    size_t left = low, right = middle;
    for (size_t i = low; i < high; i++)
        to[i] = left < middle && (right == high || from[left].time_ns <= from[right].time_ns) ? from[left++]
                                                                                              : from[right++];
}

/* Bottom-up merge sort of what is out of order, from the first event that some later one precedes. */
int wp_event_queue_sort(struct wp_event_queue *q)
{
    if (q->sorted == q->count)
        return 0;
    uint64_t lowest = UINT64_MAX;
    for (size_t i = q->sorted; i < q->count; i++)
        lowest = q->events[i].time_ns < lowest ? q->events[i].time_ns : lowest;
    size_t low = WP_LOWER_BOUND(middle, 0, q->sorted, q->events[middle].time_ns <= lowest);
    struct wp_event *from = q->events + low;
    size_t count = q->count - low;
    if (!q->spare && !(q->spare = malloc(q->room * sizeof(*q->spare))))
        return -ENOMEM;
    struct wp_event *to = q->spare;
    for (size_t at = 0; at < count; at += RUN)
        sort_run(from + at, count - at < RUN ? count - at : RUN);
    for (size_t width = RUN; width < count; width *= 2) {
        for (size_t at = 0; at < count; at += 2 * width) {
            size_t middle = at + width < count ? at + width : count,
                   end = at + 2 * width < count ? at + 2 * width : count;
            merge(from, at, middle, end, to);
        }
        struct wp_event *swap = from;
        from = to;
        to = swap;
    }
    if (from != q->events + low)
        memcpy(q->events + low, from, count * sizeof(*from));
    q->sorted = q->count;
    return 0;
}

size_t wp_event_queue_before(const struct wp_event_queue *q, uint64_t time_ns)
{
    return WP_LOWER_BOUND(middle, 0, q->count, q->events[middle].time_ns < time_ns);
}

void wp_event_queue_round_down(struct wp_event_queue *q, size_t count, uint64_t resolution_ns)
{
    for (size_t i = 0; i < count; i++)
        q->events[i].time_ns &= ~(resolution_ns - 1);
}

/* What a burst took, or events that waited for names, goes back. */
static void give_back(struct wp_event_queue *q)
{
    size_t room = q->room / 2;
    struct wp_event *events = room >= LEAST && q->count < room / 4 ? realloc(q->events, room * sizeof(*events)) : NULL;
    if (!events)
        return;
    q->events = events;
    q->room = room;
    free(q->spare);
    q->spare = NULL;
}

void wp_event_queue_take(struct wp_event_queue *q, size_t count)
{
    if (!count)
        return;
    memmove(q->events, q->events + count, (q->count - count) * sizeof(*q->events));
    q->count -= count;
    q->sorted -= count < q->sorted ? count : q->sorted;
    give_back(q);
}
