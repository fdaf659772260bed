/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/spool/spool_batch.h"

#include "common/intmap.h"
#include "proto/batch_decode.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define NAMELESS_TID (1u << 30) /* above every tid there is (PID_MAX_LIMIT is 4 Mi): each stays a thread of its own */

static const char lost_name[] = "[lost]";

struct wp_spool_batches {
    struct wp_batch batch; /* decoded; its storage is kept */
    struct wp_batch made;  /* of a gap, on the arrays below */
    struct wp_buffer drops, entries[WP_SPOOL_KINDS];
    struct wp_intmap renamed; /* thread -> index of its event in `names` */
    struct wp_buffer names;   /* struct wp_event */
};

struct wp_spool_batches *wp_spool_batches_create(void)
{
    return calloc(1, sizeof(struct wp_spool_batches));
}

void wp_spool_batches_destroy(struct wp_spool_batches *b)
{
    if (!b)
        return;
    wp_batch_fini(&b->batch);
    wp_buffer_fini(&b->drops);
    wp_buffer_fini(&b->names);
    wp_intmap_fini(&b->renamed);
    for (unsigned i = 0; i < WP_SPOOL_KINDS; i++)
        wp_buffer_fini(&b->entries[i]);
    free(b);
}

void wp_spool_head_of(
    struct wp_spool_head *head, const struct wp_batch *batch, const uint32_t known[WP_SPOOL_KINDS], uint64_t last_ns)
{
    const uint32_t counts[WP_SPOOL_KINDS] = {batch->string_count, batch->thread_count, batch->socket_count,
        batch->object_count, batch->frame_count, batch->stack_count};
    *head = (struct wp_spool_head){.first_seq = batch->seq,
        .last_seq = batch->seq,
        .first_ns = last_ns,
        .last_ns = last_ns,
        .events = batch->event_count,
        .anchor_mono_ns = batch->anchor_mono_ns,
        .anchor_real_ns = batch->anchor_real_ns};
    if (batch->event_count) {
        head->first_ns = batch->events[0].time_ns;
        head->last_ns = batch->events[batch->event_count - 1].time_ns;
    }
    for (uint32_t i = 0; i < batch->drop_count; i++)
        head->dropped += batch->drops[i].count;
    for (unsigned i = 0; i < WP_SPOOL_KINDS; i++) {
        head->before[i] = known[i];
        head->after[i] = known[i] + counts[i];
    }
}

int wp_spool_batches_decode(
    struct wp_spool_batches *b, const uint8_t *raw, size_t size, struct wp_batch **batch, struct wp_error *err)
{
    *batch = &b->batch;
    return wp_batch_decode(&b->batch, raw, size, err);
}

/* Nothing before the watermark is still to come: up to there the time is uncertain. */
static uint64_t lost_until(const struct wp_batch *batch, uint64_t last_ns)
{
    return batch->watermark_ns > last_ns && batch->watermark_ns < UINT64_MAX / 2 ? batch->watermark_ns : last_ns;
}

int wp_spool_batches_strip(struct wp_spool_batches *b, bool is_lost, struct wp_error *err)
{
    struct wp_batch *batch = &b->batch;
    uint64_t counts[WP_EVENT_KINDS] = {0};
    wp_buffer_clear(&b->drops);
    uint64_t first_ns = batch->event_count ? batch->events[0].time_ns : 0;
    uint64_t last_ns = batch->event_count ? batch->events[batch->event_count - 1].time_ns : 0;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < batch->event_count; i++) {
        const struct wp_event *event = &batch->events[i];
        if (event->kind == WP_EVENT_RENAME || (is_lost && event->kind >= WP_EVENT_FORK && event->kind <= WP_EVENT_EXIT))
            batch->events[kept++] = *event;
        else
            counts[event->kind]++;
    }
    if (is_lost && batch->drop_count)
        wp_buffer_append(&b->drops, batch->drops, batch->drop_count * sizeof(*batch->drops));
    for (uint32_t kind = 0; is_lost && kind < WP_EVENT_KINDS; kind++) {
        if (!counts[kind])
            continue;
        struct wp_drop drop = {
            .kind = kind, .count = counts[kind], .from_ns = first_ns, .to_ns = lost_until(batch, last_ns)};
        wp_buffer_append(&b->drops, &drop, sizeof(drop));
    }
    if (b->drops.failed)
        return wp_error_set(err, -ENOMEM, "out of memory for the spool");
    batch->event_count = kept;
    batch->drops = (struct wp_drop *)(void *)b->drops.data;
    batch->drop_count = (uint32_t)(b->drops.size / sizeof(struct wp_drop));
    return 0;
}

bool wp_spool_batch_is_empty(const struct wp_batch *b)
{
    return !(b->event_count || b->string_count || b->thread_count || b->socket_count || b->object_count ||
        b->frame_count || b->stack_count || b->device_count || b->drop_count || b->is_last);
}

void wp_spool_batches_forget_names(struct wp_spool_batches *b)
{
    wp_intmap_clear(&b->renamed);
    wp_buffer_clear(&b->names);
}

int wp_spool_batches_take_names(struct wp_spool_batches *b, struct wp_batch *batch, struct wp_error *err)
{
    for (uint32_t i = 0; i < batch->event_count; i++) {
        struct wp_intkey key = {batch->events[i].thread, 0};
        uint32_t index = (uint32_t)(b->names.size / sizeof(struct wp_event));
        if (batch->events[i].kind != WP_EVENT_RENAME)
            continue;
        if (wp_intmap_get(&b->renamed, key, &index))
            memcpy(b->names.data + index * sizeof(struct wp_event), &batch->events[i], sizeof(struct wp_event));
        else if (index < WP_BATCH_EVENTS &&
            (wp_intmap_put(&b->renamed, key, index) ||
                wp_buffer_append(&b->names, &batch->events[i], sizeof(struct wp_event))))
            return wp_error_set(err, -ENOMEM, "out of memory for the spool");
    }
    batch->event_count = batch->drop_count = 0;
    return 0;
}

int wp_spool_batches_give_names(
    struct wp_spool_batches *b, struct wp_batch *batch, uint64_t time_ns, struct wp_error *err)
{
    batch->events = (struct wp_event *)(void *)b->names.data;
    batch->event_count = (uint32_t)(b->names.size / sizeof(struct wp_event));
    for (uint32_t i = 0; i < batch->event_count; i++)
        batch->events[i].time_ns = time_ns;
    wp_intmap_clear(&b->renamed);
    b->names.size = 0; /* the bytes stay as long as the batch */
    return b->names.failed ? wp_error_set(err, -ENOMEM, "out of memory for the spool") : 0;
}

/* `count` entries of size `size`, all zero. */
static void *nameless(struct wp_buffer *entries, uint32_t count, size_t size)
{
    wp_buffer_clear(entries);
    if (wp_buffer_reserve(entries, (size_t)count * size + 1))
        return NULL;
    memset(entries->data, 0, (size_t)count * size);
    return entries->data;
}

static void fill_nameless(struct wp_batch *m, uint32_t frames_known)
{
    for (uint32_t i = 0; i < m->string_count; i++)
        m->strings[i] = (struct wp_bytes){lost_name, sizeof(lost_name) - 1};
    for (uint32_t i = 0; i < m->thread_count; i++)
        m->threads[i].tid = m->threads[i].pid = NAMELESS_TID + m->first_thread + i;
    for (uint32_t i = 0; i < m->socket_count; i++) {
        m->sockets[i].family = AF_INET;
        m->sockets[i].protocol = IPPROTO_TCP;
    }
    for (uint32_t i = 0; i < m->stack_count; i++)
        m->stacks[i].frame = frames_known ? 1 : 0;
}

/* The share of the entries that batch number `nth` of the gap carries. */
static uint32_t share(const struct wp_spool_gap *gap, unsigned kind, uint64_t nth, uint32_t *first)
{
    uint64_t total = gap->after[kind] > gap->before[kind] ? gap->after[kind] - gap->before[kind] : 0;
    uint64_t begin = nth < total / WP_BATCH_ENTRIES + 1 ? nth * WP_BATCH_ENTRIES : total;
    uint64_t left = total - begin;
    *first = gap->before[kind] + (uint32_t)begin + 1;
    return left < WP_BATCH_ENTRIES ? (uint32_t)left : WP_BATCH_ENTRIES;
}

int wp_spool_batches_gap(struct wp_spool_batches *b, const struct wp_spool_gap *gap, uint64_t seq,
    struct wp_batch **batch, struct wp_error *err)
{
    struct wp_batch *m = &b->made;
    uint64_t nth = seq - gap->first_seq;
    *m = (struct wp_batch){.seq = seq, .anchor_mono_ns = gap->anchor_mono_ns, .anchor_real_ns = gap->anchor_real_ns};
    memcpy(m->session, gap->session, sizeof(m->session));
    m->string_count = share(gap, WP_SPOOL_STRINGS, nth, &m->first_string);
    m->thread_count = share(gap, WP_SPOOL_THREADS, nth, &m->first_thread);
    m->socket_count = share(gap, WP_SPOOL_SOCKETS, nth, &m->first_socket);
    m->object_count = share(gap, WP_SPOOL_OBJECTS, nth, &m->first_object);
    m->frame_count = share(gap, WP_SPOOL_FRAMES, nth, &m->first_frame);
    m->stack_count = share(gap, WP_SPOOL_STACKS, nth, &m->first_stack);
    m->strings = nameless(&b->entries[WP_SPOOL_STRINGS], m->string_count, sizeof(*m->strings));
    m->threads = nameless(&b->entries[WP_SPOOL_THREADS], m->thread_count, sizeof(*m->threads));
    m->sockets = nameless(&b->entries[WP_SPOOL_SOCKETS], m->socket_count, sizeof(*m->sockets));
    m->objects = nameless(&b->entries[WP_SPOOL_OBJECTS], m->object_count, sizeof(*m->objects));
    m->frames = nameless(&b->entries[WP_SPOOL_FRAMES], m->frame_count, sizeof(*m->frames));
    m->stacks = nameless(&b->entries[WP_SPOOL_STACKS], m->stack_count, sizeof(*m->stacks));
    m->drops = nameless(&b->drops, 1, sizeof(*m->drops));
    if (!m->strings || !m->threads || !m->sockets || !m->objects || !m->frames || !m->stacks || !m->drops)
        return wp_error_set(err, -ENOMEM, "out of memory for the spool");
    fill_nameless(m, m->first_frame - 1 + m->frame_count);
    if (!nth && gap->count) {
        m->drops[0] = (struct wp_drop){.count = gap->count,
            .from_ns = gap->from_ns,
            .to_ns = gap->to_ns > gap->from_ns ? gap->to_ns : gap->from_ns};
        m->drop_count = 1;
    }
    *batch = m;
    return 0;
}
