/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aggregator/made_herd.h"

#include <stdlib.h>

static void happen(struct made_herd *herd, uint64_t after_ns, struct wp_event event)
{
    herd->now_ns += after_ns;
    event.time_ns = herd->now_ns;
    herd->events[herd->event_count++] = event;
}

static void on(struct made_herd *herd, uint64_t after_ns, uint16_t cpu, uint32_t thread)
{
    happen(herd, after_ns, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = cpu, .other = thread});
}

static void off(struct made_herd *herd, uint64_t after_ns, uint16_t cpu, uint32_t thread)
{
    happen(herd, after_ns,
        (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = cpu, .thread = thread, .c = WP_STATE_INTERRUPTIBLE, .d = 8});
}

static void wake(struct made_herd *herd, uint16_t cpu, uint32_t waker, uint32_t thread)
{
    happen(herd, 200,
        (struct wp_event){.kind = WP_EVENT_WAKING, .cpu = cpu, .thread = waker, .other = thread, .c = WP_CAUSE_TASK});
}

/* All sleep; a helper wakes the worker so many times; the worker wakes all. */
void made_herd_init(struct made_herd *herd)
{
    uint32_t count = herd->sleepers, worker = count + 1, helper = count + 2;
    herd->threads = calloc(count + 2, sizeof(*herd->threads));
    herd->events = calloc(count * 5 + herd->slices * 5 + 8, sizeof(*herd->events));
    if (!herd->threads || !herd->events)
        abort();
    for (uint32_t i = 0; i < count + 2; i++)
        herd->threads[i] = (struct wp_thread_entry){.tid = 100 + i,
            .pid = i < count && !herd->is_parted ? 100 : 100 + i,
            .start_ns = 1,
            .comm = i < count ? 1 : i - count + 2,
            .flags = i < count ? WP_THREAD_COMMAND : 0};
    herd->now_ns = 1000000000;
    for (uint32_t i = 1; i <= count; i++) {
        on(herd, 500, 1, i);
        off(herd, 500, 1, i);
    }
    for (uint32_t i = 0; i < herd->slices; i++) {
        on(herd, 500, 0, worker);
        off(herd, 2000, 0, worker);
        on(herd, 500, 2, helper);
        wake(herd, 2, helper, worker);
        off(herd, 100, 2, helper);
    }
    on(herd, 500, 0, worker);
    for (uint32_t i = 1; i <= count; i++)
        wake(herd, 0, worker, i);
    for (uint32_t i = 1; i <= count; i++) {
        on(herd, 500, 1, i);
        off(herd, 500, 1, i);
    }
    off(herd, 500, 0, worker);
}

void made_herd_fini(struct made_herd *herd)
{
    free(herd->threads);
    free(herd->events);
}

struct wp_batch made_herd_batch(const struct made_herd *herd)
{
    static struct wp_bytes strings[] = {{"sleeper", 7}, {"worker", 6}, {"helper", 6}};
    return (struct wp_batch){.seq = 1,
        .watermark_ns = herd->now_ns,
        .first_string = 1,
        .strings = strings,
        .string_count = 3,
        .first_thread = 1,
        .threads = herd->threads,
        .thread_count = herd->sleepers + 2,
        .first_socket = 1,
        .first_frame = 1,
        .first_stack = 1,
        .events = herd->events,
        .event_count = herd->event_count};
}
