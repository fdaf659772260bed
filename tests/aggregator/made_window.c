/* SPDX-License-Identifier: Apache-2.0 */
#include "made_window.h"

#include "aggregator/timeline/timeline_window.h"

#include <stdlib.h>
#include <string.h>

struct known {
    struct wp_event state; /* what STATE would say now; kind 0: nothing is known, or it is gone */
};

struct cutter {
    const struct wp_window *window;
    struct made_trace *trace;
    struct known *threads; /* by dictionary id */
    struct wp_event *events;
    struct made_use *use;
    uint32_t count, room;
    uint64_t edge_ns; /* the next one */
    bool is_open;
};

static void put(struct cutter *c, struct wp_event event, const struct made_use *use)
{
    if (c->count == c->room) {
        c->room = c->room ? c->room * 2 : 1024;
        c->events = realloc(c->events, c->room * sizeof(*c->events));
        c->use = realloc(c->use, c->room * sizeof(*c->use));
        if (!c->events || !c->use)
            abort();
    }
    c->events[c->count] = event;
    c->use[c->count++] = *use;
}

static void pass_edges(struct cutter *c, uint64_t until_ns, const struct made_use *use)
{
    for (; c->edge_ns <= until_ns; c->edge_ns += wp_window_left(c->window, c->edge_ns)) {
        c->is_open = !c->is_open;
        put(c, (struct wp_event){.time_ns = c->edge_ns, .kind = WP_EVENT_WINDOW, .c = c->is_open}, use);
        for (uint32_t i = 1; c->is_open && i <= c->trace->whole.thread_count; i++) {
            struct wp_event state = c->threads[i].state;
            state.time_ns = c->edge_ns;
            if (state.kind)
                put(c, state, use);
        }
    }
}

static void set(struct cutter *c, uint32_t thread, struct wp_event state)
{
    state.kind = WP_EVENT_STATE;
    state.thread = thread;
    if (thread)
        c->threads[thread].state = state;
}

static void learn(struct cutter *c, const struct wp_event *event)
{
    struct known *known = &c->threads[event->thread], *other = &c->threads[event->other];
    switch (event->kind) {
    case WP_EVENT_SWITCH:
        set(c, event->thread, (struct wp_event){.c = event->c, .d = event->d, .stack = event->stack});
        if (event->c == WP_STATE_DEAD)
            known->state.kind = 0;
        set(c, event->other, (struct wp_event){.c = WP_STATE_RUNNING, .cpu = event->cpu, .flags = WP_STATE_ON_CPU});
        break;
    case WP_EVENT_WAKING:
        if (event->other && !(other->state.flags & WP_STATE_ON_CPU))
            set(c, event->other, (struct wp_event){.c = WP_STATE_RUNNING});
        break;
    case WP_EVENT_FORK:
        set(c, event->other, (struct wp_event){.c = WP_STATE_RUNNING});
        break;
    case WP_EVENT_STATE:
        set(c, event->thread, *event);
        break;
    case WP_EVENT_EXEC:
        if (event->other != event->thread) {
            set(c, event->other, known->state);
            known->state.kind = 0;
        }
        break;
    default:
        break;
    }
}

void made_window_apply(struct made_trace *trace, const struct wp_window *window)
{
    struct wp_batch *whole = &trace->whole;
    struct cutter c = {.window = window,
        .trace = trace,
        .threads = calloc(whole->thread_count + 1, sizeof(*c.threads)),
        .is_open = true};
    if (!c.threads || !whole->event_count)
        abort();
    uint64_t start_ns = whole->events[0].time_ns;
    c.edge_ns = wp_window_is_open(window, start_ns) ? start_ns + wp_window_left(window, start_ns) : start_ns;
    for (uint32_t i = 0; i < whole->event_count; i++) {
        const struct wp_event *event = &whole->events[i];
        pass_edges(&c, event->time_ns, i ? &trace->use[i - 1] : &trace->use[i]);
        learn(&c, event);
        if (c.is_open || wp_event_is_told_always(event))
            put(&c, *event, &trace->use[i]);
    }
    c.use[c.count - 1] = trace->use[whole->event_count - 1];
    free(whole->events);
    free(trace->use);
    free(c.threads);
    whole->events = c.events;
    whole->event_count = c.count;
    trace->use = c.use;
}

uint64_t made_window_open(const struct wp_window *window, uint64_t from_ns, uint64_t to_ns)
{
    uint64_t sum = 0, left_ns;
    for (; from_ns < to_ns; from_ns += left_ns) {
        left_ns = wp_window_left(window, from_ns);
        left_ns = left_ns < to_ns - from_ns ? left_ns : to_ns - from_ns;
        sum += wp_window_is_open(window, from_ns) ? left_ns : 0;
    }
    return sum;
}
