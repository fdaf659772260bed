/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/standing.h"

#include "common/array.h"
#include "common/intmap.h"

#include <errno.h>
#include <stdlib.h>

#define TCP_ESTABLISHED_STATE 1
#define TCP_CLOSE_STATE 7

struct thread {
    uint64_t since_ns; /* off the CPU */
    uint32_t id, stack, call;
    uint16_t cpu;
    uint8_t state;
    bool is_on_cpu, is_known;
};

struct connection {
    uint64_t began; /* initial sequence numbers; 0: the place is free */
    uint32_t id, state_before;
};

struct wp_standing {
    struct thread *threads; /* owned */
    uint32_t thread_count, thread_room;
    uint32_t *free_threads, free_thread_count; /* owned; as much room */
    struct wp_intmap thread_of;
    struct connection *connections; /* owned */
    uint32_t count, room;
    uint32_t *free_places, free_count; /* owned; as much room */
    struct wp_intmap connection_of;
    bool is_paused;
};

struct wp_standing *wp_standing_create(void)
{
    return calloc(1, sizeof(struct wp_standing));
}

void wp_standing_destroy(struct wp_standing *s)
{
    if (!s)
        return;
    wp_intmap_fini(&s->thread_of);
    wp_intmap_fini(&s->connection_of);
    free(s->threads);
    free(s->free_threads);
    free(s->connections);
    free(s->free_places);
    free(s);
}

bool wp_standing_is_paused(const struct wp_standing *s)
{
    return s->is_paused;
}

static struct thread *find(const struct wp_standing *s, uint32_t id)
{
    uint32_t at;
    return wp_intmap_get(&s->thread_of, (struct wp_intkey){id, 0}, &at) ? &s->threads[at] : NULL;
}

/* NULL: the idle task, or out of memory. */
static struct thread *thread_of(struct wp_standing *s, uint32_t id)
{
    struct thread *thread = id ? find(s, id) : NULL;
    if (!id || thread)
        return thread;
    uint32_t room = s->thread_room, wanted = s->thread_count + !s->free_thread_count;
    if (WP_ARRAY_FIT(s->threads, room, wanted) || WP_ARRAY_FIT(s->free_threads, s->thread_room, wanted))
        return NULL;
    uint32_t at = s->free_thread_count ? s->free_threads[s->free_thread_count - 1] : s->thread_count;
    if (wp_intmap_put(&s->thread_of, (struct wp_intkey){id, 0}, at))
        return NULL;
    if (at == s->thread_count)
        s->thread_count++;
    else
        s->free_thread_count--;
    s->threads[at] = (struct thread){.id = id};
    return &s->threads[at];
}

static void end_thread(struct wp_standing *s, uint32_t id)
{
    struct thread *thread = find(s, id);
    if (!thread)
        return;
    *thread = (struct thread){0};
    s->free_threads[s->free_thread_count++] = (uint32_t)(thread - s->threads);
    wp_intmap_remove(&s->thread_of, (struct wp_intkey){id, 0});
}

static void runs(struct wp_standing *s, uint32_t id, uint16_t cpu)
{
    struct thread *thread = thread_of(s, id);
    if (thread)
        *thread = (struct thread){.id = id, .cpu = cpu, .is_on_cpu = true, .is_known = true};
}

static void on_switch(struct wp_standing *s, const struct wp_event *event)
{
    if (event->c == WP_STATE_DEAD) {
        end_thread(s, event->thread);
    } else {
        struct thread *thread = thread_of(s, event->thread);
        if (thread)
            *thread = (struct thread){.id = event->thread,
                .since_ns = event->time_ns,
                .stack = event->stack,
                .call = event->d,
                .cpu = event->cpu,
                .state = (uint8_t)event->c,
                .is_known = true};
    }
    runs(s, event->other, event->cpu);
}

static void on_state(struct wp_standing *s, const struct wp_event *event)
{
    struct thread *thread = thread_of(s, event->thread);
    if (thread && !thread->is_known)
        *thread = (struct thread){.id = event->thread,
            .since_ns = event->a,
            .stack = event->stack,
            .call = event->d,
            .cpu = event->cpu,
            .state = (uint8_t)event->c,
            .is_on_cpu = event->flags & WP_STATE_ON_CPU,
            .is_known = true};
}

static void on_connection(struct wp_standing *s, const struct wp_event *event)
{
    struct wp_intkey key = {event->d, 0};
    uint32_t at;
    bool is_there = wp_intmap_get(&s->connection_of, key, &at);
    if (event->c == TCP_CLOSE_STATE && is_there) {
        s->connections[at].began = 0;
        s->free_places[s->free_count++] = at;
        wp_intmap_remove(&s->connection_of, key);
    }
    if (event->c != TCP_ESTABLISHED_STATE || !event->a)
        return;
    if (!is_there) {
        uint32_t room = s->room, wanted = s->count + !s->free_count;
        if (WP_ARRAY_FIT(s->connections, room, wanted) || WP_ARRAY_FIT(s->free_places, s->room, wanted))
            return;
        at = s->free_count ? s->free_places[s->free_count - 1] : s->count;
        if (wp_intmap_put(&s->connection_of, key, at))
            return;
        if (at == s->count)
            s->count++;
        else
            s->free_count--;
    }
    s->connections[at] = (struct connection){event->a, event->d, (uint32_t)event->b};
}

static void on_window(struct wp_standing *s, bool goes_on)
{
    s->is_paused = !goes_on;
    if (goes_on)
        return;
    wp_intmap_clear(&s->thread_of);
    s->thread_count = s->free_thread_count = 0;
}

void wp_standing_take(struct wp_standing *s, const struct wp_event *event)
{
    struct thread *thread;
    switch (event->kind) {
    case WP_EVENT_SWITCH:
        on_switch(s, event);
        break;
    case WP_EVENT_WAKING:
        thread = find(s, event->other);
        if (thread && thread->is_known && !thread->is_on_cpu)
            thread->state = WP_STATE_RUNNING;
        break;
    case WP_EVENT_FORK:
        thread = thread_of(s, event->other);
        if (thread && !thread->is_known)
            *thread = (struct thread){.id = event->other, .is_known = true};
        break;
    case WP_EVENT_EXEC:
        if (event->other != event->thread) {
            end_thread(s, event->thread);
            runs(s, event->other, event->cpu);
        }
        break;
    case WP_EVENT_EXIT:
        if (s->is_paused)
            end_thread(s, event->thread);
        break;
    case WP_EVENT_STATE:
        on_state(s, event);
        break;
    case WP_EVENT_SOCK_STATE:
        on_connection(s, event);
        break;
    case WP_EVENT_WINDOW:
        on_window(s, event->c);
        break;
    default:
        break;
    }
}

int wp_standing_tell(
    const struct wp_standing *s, uint64_t time_ns, int (*tell)(void *context, struct wp_event *event), void *context)
{
    int rc = 0;
    for (uint32_t i = 0; !rc && i < s->thread_count; i++) {
        const struct thread *thread = &s->threads[i];
        if (thread->is_known)
            rc = tell(context,
                &(struct wp_event){.time_ns = time_ns,
                    .kind = WP_EVENT_STATE,
                    .thread = thread->id,
                    .cpu = thread->cpu,
                    .c = thread->state,
                    .a = thread->state == WP_STATE_RUNNING ? 0 : thread->since_ns,
                    .d = thread->call,
                    .stack = thread->stack,
                    .flags = WP_EVENT_RETOLD | (thread->is_on_cpu ? WP_STATE_ON_CPU : 0)});
    }
    for (uint32_t i = 0; !rc && i < s->count; i++)
        if (s->connections[i].began)
            rc = tell(context,
                &(struct wp_event){.time_ns = time_ns,
                    .kind = WP_EVENT_SOCK_STATE,
                    .flags = WP_EVENT_RETOLD,
                    .a = s->connections[i].began,
                    .b = s->connections[i].state_before,
                    .c = TCP_ESTABLISHED_STATE,
                    .d = s->connections[i].id});
    return rc;
}
