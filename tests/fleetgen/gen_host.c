/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fleetgen/gen_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CUT_NS 100000000u /* as the collector's batcher */
#define QUIET_NS 500000000u

struct gen_host *gen_host_create(struct gen_sim *sim, uint32_t number, uint32_t cpus)
{
    struct gen_host *host = gen_new(sizeof(*host));
    *host = (struct gen_host){
        .sim = sim, .number = number, .cpu_count = cpus, .next_tid = 1000, .next_port = 32768, .sample_ns = 10101010};
    snprintf(host->name, sizeof(host->name), "h%u", number + 1);
    host->cpus = gen_new(cpus * sizeof(*host->cpus));
    host->batch = (struct wp_batch){.seq = 1,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1};
    return host;
}

void gen_host_destroy(struct gen_host *host)
{
    if (!host)
        return;
    for (uint32_t i = 0; i < host->batch.string_count; i++)
        free((char *)(uintptr_t)host->batch.strings[i].data);
    for (uint32_t i = 0; i < host->thread_count; i++)
        free(host->threads[i]);
    free(host->batch.events);
    free(host->batch.strings);
    free(host->batch.threads);
    free(host->batch.sockets);
    free(host->batch.frames);
    free(host->batch.stacks);
    free(host->batch.drops);
    free(host->threads);
    free(host->queue);
    free(host->cpus);
    free(host);
}

/* --- dictionary --- */

uint32_t gen_host_string(struct gen_host *host, const char *text)
{
    struct wp_batch *b = &host->batch;
    for (uint32_t i = 0; i < b->string_count; i++)
        if (b->strings[i].size == strlen(text) && !memcmp(b->strings[i].data, text, b->strings[i].size))
            return i + 1;
    b->strings = gen_grow(b->strings, &host->string_room, b->string_count + 1, sizeof(*b->strings));
    b->strings[b->string_count] = (struct wp_bytes){strdup(text), (uint32_t)strlen(text)};
    return ++b->string_count;
}

uint32_t gen_host_socket(struct gen_host *host, const struct wp_socket_entry *entry)
{
    struct wp_batch *b = &host->batch;
    b->sockets = gen_grow(b->sockets, &host->socket_room, b->socket_count + 1, sizeof(*b->sockets));
    b->sockets[b->socket_count] = *entry;
    return ++b->socket_count;
}

uint32_t gen_host_entry(struct gen_host *host, const struct wp_thread_entry *entry)
{
    struct wp_batch *b = &host->batch;
    b->threads = gen_grow(b->threads, &host->thread_entry_room, b->thread_count + 1, sizeof(*b->threads));
    b->threads[b->thread_count] = *entry;
    return ++b->thread_count;
}

/* Each function is a frame with a stack of its own: main, serve, and what it is at. */
static uint32_t add_stack(struct gen_host *host, uint32_t parent, const char *function)
{
    struct wp_batch *b = &host->batch;
    uint32_t room = host->stack_room;
    b->frames = gen_grow(b->frames, &room, b->frame_count + 1, sizeof(*b->frames));
    b->stacks = gen_grow(b->stacks, &host->stack_room, b->stack_count + 1, sizeof(*b->stacks));
    b->frames[b->frame_count++] = (struct wp_frame_entry){.function = gen_host_string(host, function)};
    b->stacks[b->stack_count++] = (struct wp_stack_entry){parent, b->frame_count};
    return b->stack_count;
}

uint32_t gen_host_stack(struct gen_host *host, uint32_t service, enum gen_spot spot)
{
    static const char *const names[GEN_SPOTS] = {
        [GEN_SPOT_WORK] = "work", "read_message", "send_message", "nap", "sync_file", "wait_for_child"};
    uint32_t *ids = host->stacks[service];
    if (!spot)
        return 0;
    if (!ids[0])
        ids[0] = add_stack(host, add_stack(host, 0, "main"), "serve");
    if (!ids[spot])
        ids[spot] = add_stack(host, ids[0], names[spot]);
    return ids[spot];
}

/* --- what is told --- */

static void tell_losses(struct gen_host *host)
{
    struct wp_batch *b = &host->batch;
    for (uint32_t kind = 0; kind < WP_EVENT_KINDS; kind++) {
        if (!host->lost[kind])
            continue;
        b->drops = gen_grow(b->drops, &host->drop_room, b->drop_count + 1, sizeof(*b->drops));
        b->drops[b->drop_count++] =
            (struct wp_drop){kind, 0, host->lost[kind], gen_clock_at(&host->clock, host->loss.from_ns),
                gen_clock_at(&host->clock, host->sim->now_ns < host->loss.to_ns ? host->sim->now_ns : host->loss.to_ns),
                WP_DROP_NO_ROOM};
        host->dropped += host->lost[kind];
        host->lost[kind] = 0;
    }
}

static void cut(struct gen_host *host, bool is_last)
{
    struct wp_batch b = host->batch;
    uint64_t now_ns = gen_clock_at(&host->clock, host->sim->now_ns);
    tell_losses(host);
    b = host->batch;
#define NEWS(rows, count, first, told)                                                                                 \
    (b.rows += host->told, b.count -= host->told, b.first = host->told + 1, host->told = host->batch.count)
    NEWS(strings, string_count, first_string, told_strings);
    NEWS(threads, thread_count, first_thread, told_threads);
    NEWS(sockets, socket_count, first_socket, told_sockets);
    NEWS(frames, frame_count, first_frame, told_frames);
    NEWS(stacks, stack_count, first_stack, told_stacks);
#undef NEWS
    struct wp_device_entry device = {8u << 20, 0};
    if (b.seq == 1) {
        device.name = b.string_count ? 1 : 0;
        b.devices = &device;
        b.device_count = 1;
    }
    b.watermark_ns = b.anchor_mono_ns = now_ns;
    b.anchor_real_ns = now_ns + 1700000000000000000u;
    b.is_last = is_last;
    host->uplink(host->context, host, &b);
    host->events += b.event_count;
    host->batch.event_count = host->batch.drop_count = 0;
    host->batch.seq++;
    host->cut_ns = host->sim->now_ns;
}

static bool is_told_always(const struct wp_event *event)
{
    return event->kind == WP_EVENT_WINDOW || (event->kind >= WP_EVENT_FORK && event->kind <= WP_EVENT_RENAME);
}

void gen_host_tell(struct gen_host *host, struct wp_event event)
{
    struct wp_batch *b = &host->batch;
    uint64_t now_ns = host->sim->now_ns;
    if (!host->is_recording || (host->is_paused && !is_told_always(&event)))
        return;
    if (now_ns >= host->loss.from_ns && now_ns < host->loss.to_ns) {
        host->lost[event.kind]++;
        return;
    }
    if (b->event_count == WP_BATCH_EVENTS)
        cut(host, false);
    event.time_ns = gen_clock_at(&host->clock, now_ns);
    b->events = gen_grow(b->events, &host->event_room, b->event_count + 1, sizeof(*b->events));
    b->events[b->event_count++] = event;
}

static void cut_again(void *context, uint64_t argument)
{
    struct gen_host *host = context;
    (void)argument;
    if (!host->is_recording)
        return;
    if (host->batch.event_count || host->sim->now_ns - host->cut_ns >= QUIET_NS)
        cut(host, false);
    gen_at(host->sim, host->sim->now_ns + CUT_NS, cut_again, host, 0);
}

static void sample(void *context, uint64_t cpu)
{
    struct gen_host *host = context;
    const struct gen_thread *thread = host->cpus[cpu].running;
    if (!host->is_recording)
        return;
    if (thread)
        gen_host_tell(host,
            (struct wp_event){.kind = WP_EVENT_SAMPLE,
                .cpu = (uint16_t)cpu,
                .thread = thread->entry,
                .stack = gen_host_stack(host, thread->service, thread->spot)});
    gen_at(host->sim, host->sim->now_ns + host->sample_ns, sample, host, cpu);
}

static void tell_states(struct gen_host *host)
{
    for (uint32_t i = 0; i < host->thread_count; i++) {
        const struct gen_thread *thread = host->threads[i];
        struct wp_event event = {.kind = WP_EVENT_STATE,
            .thread = thread->entry,
            .c = WP_STATE_RUNNING,
            .stack = gen_host_stack(host, thread->service, thread->spot)};
        if (thread->place == GEN_NOWHERE)
            continue;
        if (thread->place == GEN_ON_CPU) {
            event.cpu = thread->cpu;
            event.flags = WP_STATE_ON_CPU;
        } else if (thread->place == GEN_ASLEEP) {
            event.c = thread->state;
            event.d = thread->syscall + 1;
        }
        gen_host_tell(host, event);
    }
}

void gen_host_pause(struct gen_host *host, bool is_paused)
{
    if (!host->is_recording || host->is_paused == is_paused)
        return;
    host->is_paused = is_paused;
    gen_host_tell(host, (struct wp_event){.kind = WP_EVENT_WINDOW, .c = !is_paused});
    if (!is_paused)
        tell_states(host);
}

void gen_host_begin(struct gen_host *host)
{
    gen_host_string(host, "sda"); /* the disk's name: the first one */
    host->is_recording = true;
    host->start_ns = host->cut_ns = host->sim->now_ns;
    tell_states(host);
    gen_at(host->sim, host->sim->now_ns + CUT_NS, cut_again, host, 0);
    for (uint32_t i = 0; host->sample_ns && i < host->cpu_count; i++)
        gen_at(host->sim, host->sim->now_ns + host->sample_ns * (i + 1) / host->cpu_count, sample, host, i);
}

void gen_host_end(struct gen_host *host)
{
    if (!host->is_recording)
        return;
    cut(host, true);
    host->is_recording = false;
    host->is_over = true;
}

/* --- processors --- */

static uint32_t entry_on(const struct gen_host *host, uint16_t cpu)
{
    return host->cpus[cpu].running ? host->cpus[cpu].running->entry : 0;
}

uint16_t gen_host_interrupt(struct gen_host *host, uint32_t *thread)
{
    uint16_t cpu = (uint16_t)gen_below(host->sim, host->cpu_count);
    *thread = entry_on(host, cpu);
    return cpu;
}
