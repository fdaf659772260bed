/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* Writes records as the collector's programs do, on demand, for records_test.c: as if it ran on the processor that it
 * is told. */
#include "collector/bpf/cpu_buffer.h"

struct order {
    __u64 time_ns, a, b;
    __u32 cpu, stamp;
};

static __always_inline void make(struct wp_record *r, const struct order *order)
{
    __builtin_memset(r, 0, sizeof(*r));
    r->kind = 1;
    r->cpu = (__u16)order->cpu;
    r->time_ns = order->time_ns;
    r->a = order->a;
    r->b = order->b;
    r->c = order->stamp;
}

SEC("syscall") int quick(struct order *order)
{
    struct wp_record r;
    make(&r, order);
    return !send_quick(&r);
}

SEC("syscall") int slow(struct order *order)
{
    struct wp_record r;
    make(&r, order);
    return !send_head(&r);
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
