/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Puts records into a ring on demand, for ring_reader_test.c: each run of a program is one record. */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define MOST 2048u
#define TURNS (1u << 20)

struct order {
    __u32 stamp, size, flags;
};

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 4096);
} ring SEC(".maps");

__u8 bytes[MOST];
volatile __u32 hold_state; /* 1: a record is reserved; 2: it may be submitted */

static long fill(__u32 index, void *stamp)
{
    bytes[index & (MOST - 1)] = *(__u32 *)stamp;
    return 0;
}

/* `size` bytes that are all the stamp. */
SEC("syscall") int put(struct order *order)
{
    __u32 stamp = order->stamp;
    bpf_loop(MOST, fill, &stamp, 0);
    return bpf_ringbuf_output(&ring, bytes, order->size & (MOST - 1), order->flags);
}

SEC("syscall") int discard(struct order *order)
{
    void *record = bpf_ringbuf_reserve(&ring, 40, 0);
    if (!record)
        return 1;
    bpf_ringbuf_discard(record, order->flags);
    return 0;
}

static long turn(__u32 index, void *none)
{
    return hold_state == 2;
}

static long turns(__u32 index, void *none)
{
    bpf_loop(TURNS, turn, 0, 0);
    return hold_state == 2;
}

/* A record that is reserved for as long as the reader wants it to be, or some minutes. */
SEC("syscall") int hold(struct order *order)
{
    __u8 *record = bpf_ringbuf_reserve(&ring, 8, 0);
    if (!record)
        return 1;
    record[0] = order->stamp;
    hold_state = 1;
    bpf_loop(1 << 16, turns, 0, 0);
    bpf_ringbuf_submit(record, order->flags);
    return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
