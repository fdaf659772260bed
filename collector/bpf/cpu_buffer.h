/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_CPU_BUFFER_H
#define WP_COLLECTOR_BPF_CPU_BUFFER_H
/*
 * Switches, wakings and messages, which are most of what is recorded, do not go through the ring: to take a place there
 * costs a lock that all processors share and two barriers, as much as all else that is done at a switch that is like
 * the last one. Each processor has a buffer of its own, which user space reads in memory as well. A program that
 * interrupts another one while that writes a slot uses the ring, and so do all when a buffer is full.
 *
 * A slot says where the ring was when it was written, so that all records have one order: see collector/live/records.h.
 */
#include "emit.h"

const volatile __u32 wp_buffer_cpus = 0;  /* so many, the first ones, have a buffer */
const volatile __u32 wp_buffer_slots = 4; /* of each, a power of two */

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1); /* a CPU each */
    __type(key, __u32);
    __type(value, struct wp_cpu_cursor);
} cpu_cursors SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(map_flags, BPF_F_MMAPABLE);
    __uint(max_entries, 1); /* wp_buffer_slots a CPU */
    __type(key, __u32);
    __type(value, struct wp_cpu_slot);
} cpu_slots SEC(".maps");

/* The slot is written before it is counted: x86 keeps the order of stores, elsewhere what is fetched and added is a
 * barrier. */
static __always_inline void count_slot(struct wp_cpu_cursor *cursor, __u64 head)
{
#if defined(__TARGET_ARCH_x86)
    barrier();
    *(volatile __u64 *)&cursor->head = head + 1;
#else
    volatile __u64 before = __sync_fetch_and_add(&cursor->head, 1);
    (void)before;
#endif
}

/* What is discarded wakes the reader too. */
static __always_inline void wake_reader(void)
{
    void *nothing = bpf_ringbuf_reserve(&ring, 8, 0);
    if (nothing)
        bpf_ringbuf_discard(nothing, BPF_RB_FORCE_WAKEUP);
}

static __always_inline struct wp_cpu_slot *free_slot(struct wp_cpu_cursor *cursor, __u32 cpu, __u64 head)
{
    if (unlikely(head - cursor->tail_seen >= wp_buffer_slots) &&
        head - (cursor->tail_seen = *(volatile __u64 *)&cursor->tail) >= wp_buffer_slots)
        return 0;
    __u32 index = cpu * wp_buffer_slots + ((__u32)head & (wp_buffer_slots - 1));
    return bpf_map_lookup_elem(&cpu_slots, &index);
}

/* A slot that is being written. */
struct quick {
    struct wp_cpu_cursor *cursor;
    struct wp_cpu_slot *slot;
    __u64 head;
};

/* False: this CPU has none, another program is writing one, or all are full. */
static __always_inline bool open_slot(struct quick *q, __u32 cpu)
{
    q->cursor = cpu < wp_buffer_cpus ? bpf_map_lookup_elem(&cpu_cursors, &cpu) : 0;
    if (unlikely(!q->cursor || q->cursor->is_busy))
        return false;
    *(volatile __u32 *)&q->cursor->is_busy = 1;
    barrier();
    q->head = q->cursor->head;
    q->slot = free_slot(q->cursor, cpu, q->head);
    if (unlikely(!q->slot))
        *(volatile __u32 *)&q->cursor->is_busy = 0;
    return q->slot;
}

/* As bpf_ringbuf_query has it: a map is read as the kernel's type of it (Linux 5.9), without a helper. */
static __always_inline __u64 ring_position(void)
{
    return ((struct bpf_ringbuf_map *)&ring)->rb->producer_pos;
}

static __always_inline void close_slot(const struct quick *q)
{
    q->slot->position = ring_position();
    q->cursor->last_ns = ((const struct wp_record *)q->slot->head)->time_ns;
    count_slot(q->cursor, q->head);
    barrier();
    *(volatile __u32 *)&q->cursor->is_busy = 0;
    if (unlikely(!((q->head + 1) & (wp_buffer_slots / 4 - 1))))
        wake_reader();
}

/* As send_head. Records with a `b`, which are few, do not fit into a slot. */
static __always_inline bool send_quick(struct wp_record *r)
{
    struct quick q;
    if (unlikely(r->b || !open_slot(&q, r->cpu)))
        return send_head(r);
    __builtin_memcpy(q.slot->head, r, WP_RECORD_QUICK);
    close_slot(&q);
    return true;
}

#endif
