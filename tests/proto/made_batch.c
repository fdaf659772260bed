/* SPDX-License-Identifier: Apache-2.0 */
#include "made_batch.h"

#include "proto/event_columns.h"

#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <cmocka.h>

uint64_t made_random(struct made *made)
{
    made->random = made->random * 6364136223846793005u + 1442695040888963407u;
    return made->random >> 24;
}

static uint32_t below(struct made *made, uint32_t limit)
{
    return limit ? (uint32_t)(made_random(made) % limit) : 0;
}

/* Small numbers, large ones and the largest. */
static uint64_t odd(struct made *made, uint64_t limit)
{
    switch (below(made, 4)) {
    case 0:
        return below(made, 3);
    case 1:
        return limit;
    default:
        return made_random(made) * made_random(made) % (limit ? limit : 1);
    }
}

void made_begin(struct made *made, uint64_t seed)
{
    memset(made, 0, sizeof(*made));
    made->random = seed * 2654435761u + 1;
    for (size_t i = 0; i < sizeof(made->text); i++)
        made->text[i] = (char)made_random(made); /* any bytes */
    for (size_t i = 0; i < 16; i++)
        made->batch.session[i] = (uint8_t)made_random(made);
    made->batch.watermark_ns = 1000;
    made->batch.programs_ns = 77;
}

void made_end(struct made *made)
{
    struct wp_batch *b = &made->batch;
    free(b->events);
    free(b->strings);
    free(b->threads);
    free(b->sockets);
    free(b->objects);
    free(b->frames);
    free(b->stacks);
    free(b->devices);
    free(b->drops);
    b->events = NULL;
    b->strings = NULL;
    b->threads = NULL;
    b->sockets = NULL;
    b->objects = NULL;
    b->frames = NULL;
    b->stacks = NULL;
    b->devices = NULL;
    b->drops = NULL;
}

static void make_names(struct made *made)
{
    struct wp_batch *b = &made->batch;
    b->first_string = made->strings + 1;
    b->string_count = below(made, 20);
    b->strings = calloc(b->string_count + 1, sizeof(*b->strings));
    for (uint32_t i = 0; i < b->string_count; i++) {
        uint32_t size = below(made, 10) ? below(made, 40) : WP_STRING_BYTES;
        b->strings[i] = (struct wp_bytes){made->text + below(made, (uint32_t)sizeof(made->text) - size), size};
    }
    made->strings += b->string_count;
    b->first_thread = made->threads + 1;
    b->thread_count = below(made, 20);
    b->threads = calloc(b->thread_count + 1, sizeof(*b->threads));
    for (uint32_t i = 0; i < b->thread_count; i++) {
        struct wp_thread_entry *e = &b->threads[i];
        *e = (struct wp_thread_entry){.tid = (uint32_t)odd(made, UINT32_MAX),
            .pid = (uint32_t)odd(made, UINT32_MAX),
            .start_ns = odd(made, UINT64_MAX),
            .comm = below(made, made->strings + 1),
            .exe = below(made, made->strings + 1),
            .cgroup = below(made, made->strings + 1),
            .parent = below(made, made->threads + i + 1),
            .flags = below(made, 16),
            .workload = below(made, made->strings + 1),
            .started_by = made->threads + i};
        for (uint32_t j = below(made, 5); made->strings && j; j--)
            e->cmdline_matches[j - 1] = 1 + below(made, made->strings);
    }
    made->threads += b->thread_count;
}

static void make_sockets(struct made *made)
{
    struct wp_batch *b = &made->batch;
    b->first_socket = made->sockets + 1;
    b->socket_count = below(made, 10);
    b->sockets = calloc(b->socket_count + 1, sizeof(*b->sockets));
    for (uint32_t i = 0; i < b->socket_count; i++) {
        struct wp_socket_entry *e = &b->sockets[i];
        bool is_v6 = below(made, 2);
        *e = (struct wp_socket_entry){.family = is_v6 ? AF_INET6 : AF_INET,
            .protocol = below(made, 2) ? IPPROTO_TCP : IPPROTO_UDP,
            .local_port = (uint16_t)made_random(made),
            .remote_port = (uint16_t)made_random(made),
            .netns = (uint32_t)odd(made, UINT32_MAX)};
        memcpy(e->local, made->text + i, is_v6 ? 16 : 4);
        memcpy(e->remote, made->text + 100 + i, is_v6 ? 16 : 4);
    }
    made->sockets += b->socket_count;
    b->device_count = below(made, 3);
    b->devices = calloc(b->device_count + 1, sizeof(*b->devices));
    for (uint32_t i = 0; i < b->device_count; i++)
        b->devices[i] = (struct wp_device_entry){(uint32_t)odd(made, UINT32_MAX), below(made, made->strings + 1)};
    b->drop_count = below(made, 3);
    b->drops = calloc(b->drop_count + 1, sizeof(*b->drops));
    for (uint32_t i = 0; i < b->drop_count; i++) {
        uint64_t from = odd(made, UINT32_MAX);
        b->drops[i] = (struct wp_drop){below(made, 20), below(made, 64), odd(made, UINT64_MAX), from,
            from + below(made, 99), below(made, WP_DROP_REASONS)};
    }
}

static void make_stacks(struct made *made)
{
    struct wp_batch *b = &made->batch;
    b->first_object = made->objects + 1;
    b->object_count = below(made, 5);
    b->objects = calloc(b->object_count + 1, sizeof(*b->objects));
    for (uint32_t i = 0; i < b->object_count; i++) {
        b->objects[i] =
            (struct wp_object_entry){.path = below(made, made->strings + 1), .build_id_size = (uint8_t)below(made, 21)};
        memcpy(b->objects[i].build_id, made->text, b->objects[i].build_id_size);
    }
    made->objects += b->object_count;
    b->first_frame = made->frames + 1;
    b->frame_count = below(made, 30);
    b->frames = calloc(b->frame_count + 1, sizeof(*b->frames));
    for (uint32_t i = 0; i < b->frame_count; i++)
        b->frames[i] = (struct wp_frame_entry){below(made, made->objects + 1), below(made, made->strings + 1),
            odd(made, UINT64_MAX), below(made, 2), .file = below(made, made->strings + 1), .line = below(made, 3),
            .inlined = i + 1 < b->frame_count ? below(made, 2) * (b->first_frame + i + 1) : 0};
    made->frames += b->frame_count;
    b->first_stack = made->stacks + 1;
    b->stack_count = made->frames ? below(made, 40) : 0;
    b->stacks = calloc(b->stack_count + 1, sizeof(*b->stacks));
    for (uint32_t i = 0; i < b->stack_count; i++)
        b->stacks[i] = (struct wp_stack_entry){below(made, made->stacks + i + 1), 1 + below(made, made->frames)};
    made->stacks += b->stack_count;
}

static void make_event(struct made *made, struct wp_event *e, uint64_t time_ns)
{
    unsigned kind = 1 + below(made, WP_EVENT_KINDS - 1), columns = wp_event_columns(kind);
    *e = (struct wp_event){
        .time_ns = time_ns, .kind = (uint8_t)kind, .flags = (uint8_t)(below(made, 3) ? 0 : made_random(made))};
    if (columns & WP_COLUMN_CPU)
        e->cpu = (uint16_t)(below(made, 9) ? below(made, 4) : below(made, 4096));
    if (columns & WP_COLUMN_THREAD)
        e->thread = below(made, made->threads + 1);
    if (columns & WP_COLUMN_OTHER)
        e->other = below(made, made->threads + 1);
    if (wp_event_is_block(e) && made->has_files)
        e->other = below(made, made->strings + 1);
    if (wp_event_has_wait(e) && made->has_waits)
        e->wait = below(made, made->strings + 1);
    if (columns & WP_COLUMN_STACK)
        e->stack = below(made, made->stacks + 1);
    if (columns & WP_COLUMN_A || (kind == WP_EVENT_SWITCH && e->flags & (WP_SWITCH_TIMED | WP_SWITCH_HELD)))
        e->a = odd(made, UINT64_MAX);
    if (columns & WP_COLUMN_B || (kind == WP_EVENT_SWITCH && e->flags & WP_SWITCH_RAN))
        e->b = odd(made, UINT64_MAX);
    if (columns & WP_COLUMN_C)
        e->c = kind == WP_EVENT_RENAME ? below(made, made->strings + 1)
            : kind == WP_EVENT_WAKING  ? below(made, WP_CAUSES)
                                       : (uint32_t)odd(made, UINT32_MAX);
    if (columns & WP_COLUMN_D)
        e->d = below(made, made->sockets + 1);
    if (wp_event_has_waking_stack(e) && made->has_waits)
        e->stack = below(made, made->stacks + 1);
}

void made_next(struct made *made, uint32_t events)
{
    struct wp_batch *b = &made->batch;
    made_end(made);
    make_names(made);
    make_sockets(made);
    make_stacks(made);
    b->seq++;
    b->anchor_mono_ns = odd(made, UINT64_MAX);
    b->anchor_real_ns = odd(made, UINT64_MAX);
    b->is_last = !below(made, 20);
    made->has_files = below(made, 2);
    made->has_waits = below(made, 2);
    b->event_count = below(made, events + 1);
    b->events = calloc(b->event_count + 1, sizeof(*b->events));
    uint64_t time = b->watermark_ns;
    for (uint32_t i = 0; i < b->event_count; i++) {
        time += below(made, 50) ? below(made, 5000) : odd(made, 1u << 30);
        make_event(made, &b->events[i], time);
    }
    b->watermark_ns = time;
}

#define EQUAL(member) assert_true(sent->member == came->member)
#define EQUAL_ITEMS(items, count)                                                                                      \
    do {                                                                                                               \
        EQUAL(count);                                                                                                  \
        assert_true(!sent->count || !memcmp(sent->items, came->items, sent->count * sizeof(*sent->items)));            \
    } while (0)

/* Which of the four stands where says nothing. */
static bool is_same_set(const uint32_t a[4], const uint32_t b[4])
{
    for (unsigned i = 0; i < 4; i++) {
        unsigned here = 0, there = 0;
        for (unsigned j = 0; j < 4; j++) {
            here += a[j] == a[i];
            there += b[j] == a[i];
        }
        if (here != there)
            return false;
    }
    return true;
}

void made_assert_equal(const struct wp_batch *sent, const struct wp_batch *came)
{
    assert_memory_equal(sent->session, came->session, 16);
    EQUAL(seq);
    EQUAL(watermark_ns);
    EQUAL(programs_ns);
    EQUAL(anchor_mono_ns);
    EQUAL(anchor_real_ns);
    EQUAL(is_last);
    EQUAL(first_string);
    EQUAL(first_thread);
    EQUAL(first_socket);
    EQUAL(first_object);
    EQUAL(first_frame);
    EQUAL(first_stack);
    EQUAL(string_count);
    for (uint32_t i = 0; i < sent->string_count; i++) {
        EQUAL(strings[i].size);
        assert_true(
            !sent->strings[i].size || !memcmp(sent->strings[i].data, came->strings[i].data, sent->strings[i].size));
    }
    EQUAL_ITEMS(events, event_count);
    EQUAL(thread_count);
    for (uint32_t i = 0; i < sent->thread_count; i++) { /* it has padding at its end, behind the matches */
        const struct wp_thread_entry *x = &sent->threads[i], *y = &came->threads[i];
        assert_memory_equal(x, y, offsetof(struct wp_thread_entry, cmdline_matches));
        assert_true(is_same_set(x->cmdline_matches, y->cmdline_matches));
    }
    EQUAL_ITEMS(sockets, socket_count);
    EQUAL_ITEMS(objects, object_count);
    EQUAL(frame_count);
    for (uint32_t i = 0; i < sent->frame_count; i++) {
        EQUAL(frames[i].object);
        EQUAL(frames[i].function);
        EQUAL(frames[i].offset);
        EQUAL(frames[i].is_kernel);
        EQUAL(frames[i].file);
        EQUAL(frames[i].line);
        EQUAL(frames[i].inlined);
    }
    EQUAL_ITEMS(stacks, stack_count);
    EQUAL_ITEMS(devices, device_count);
    assert_int_equal(sent->drop_count, came->drop_count);
    for (uint32_t i = 0; i < sent->drop_count; i++) { /* it has padding */
        const struct wp_drop *a = &sent->drops[i], *b = &came->drops[i];
        assert_true(a->kind == b->kind && a->cpu == b->cpu && a->count == b->count && a->from_ns == b->from_ns &&
            a->to_ns == b->to_ns && a->reason == b->reason);
    }
}
