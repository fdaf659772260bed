/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_EMIT_H
#define WP_COLLECTOR_BPF_EMIT_H
/* The ring buffer, the filters, and the heads of records. */
#include "kernel_marks.h"
#include "kernel_types.h"
#include "ring_record.h"
#include "work.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define PF_KTHREAD 0x00200000u /* include/linux/sched.h */

/* Set before loading. */
const volatile __u32 wp_netns_inum = 0; /* only threads and sockets of this network namespace; 0: all */
/* The collector and, where a command is recorded, its parent and the aggregator: no stacks and no samples of them. */
const volatile __u32 wp_self_pid = 0, wp_recorder_pid = 0, wp_aggregator_pid = 0;
const volatile bool wp_is_chosen_only = false; /* stacks and samples only of the processes in `chosen` */
const volatile __u64 wp_wake_bytes = 1 << 20;  /* wake the reader when so much waits; it looks by itself now and then */

/*
 * Grows by one at each end and each beginning of a window of the recording (WP_EVENT_WINDOW): odd between two of them.
 * Programs are attached and detached one by one: a birth without the switches that follow would be a run without end.
 */
volatile __u32 wp_window_number SEC(".data") = WP_WINDOW_UNWATCHED | 1;

/*
 * GET: one member, by an address. LOOSE: the same pointer, without the kernel's question at each pointer that it leads
 * to whether that may be trusted: it looks through all of its types for the answer (kernel/bpf/btf.c,
 * btf_nested_type_is_trusted, as of Linux 6.18). Linux 6.2 and later let any address be read as a type of its own,
 * without a helper; others are given the object that is WP_PLAIN.
 */
#ifdef WP_PLAIN
#define GET(type, address, member)                                                                                     \
    ({                                                                                                                 \
        struct type *at_ = (struct type *)(address);                                                                   \
        BPF_CORE_READ(at_, member);                                                                                    \
    })
#define LOOSE(type, pointer) (pointer)
#else
static void *(*const read_as)(const void *address, __u32 type) = (void *)WP_MARK_CAST;
#define CAST(type, address) ((struct type *)read_as((const void *)(address), WP_MARK_TYPE_##type))
#define GET(type, address, member) (CAST(type, address)->member)
#define LOOSE(type, pointer) CAST(type, pointer)
#endif

volatile bool wp_wants_cmdline SEC(".data") = false; /* somebody judges command lines */

static __always_inline bool is_between_windows(void)
{
    return wp_window_number & 1;
}

/* What is told between windows, too, is not told without the other programs. */
static __always_inline bool is_unwatched(void)
{
    return wp_window_number & WP_WINDOW_UNWATCHED;
}

struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 16 << 20);
} ring SEC(".maps");

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct wp_record_drops);
} drops SEC(".maps");

/* Processes (tgid) whose stacks and samples are wanted. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, 65536);
    __type(key, __u32);
    __type(value, __u8);
} chosen SEC(".maps");

static __always_inline void count_drop(__u32 kind)
{
    __u32 zero = 0;
    struct wp_record_drops *d = bpf_map_lookup_elem(&drops, &zero);
    if (!d || kind >= WP_RECORD_KINDS)
        return;
    __sync_fetch_and_add(&d->count[kind], 1); /* an interrupt may drop on this CPU too */
    d->last_ns[kind] = bpf_ktime_get_ns();
}

/* Asked by one run in eight: that is a helper's call too. */
static __always_inline __u64 wake_flag(void)
{
    if (work_here()->runs & 7)
        return BPF_RB_NO_WAKEUP;
    return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) >= wp_wake_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
}

/* Is the thread one of this host's, when a host is a network namespace? Kernel threads serve all. */
static __always_inline bool is_here(struct task_struct *task)
{
    if (!wp_netns_inum || !task->pid || task->flags & PF_KTHREAD)
        return true;
    struct nsproxy *proxy = task->nsproxy;
    return !proxy || proxy->net_ns->ns.inum == wp_netns_inum; /* none: it is exiting */
}

static __always_inline bool is_chosen(__u32 pid)
{
    if (pid == wp_self_pid || pid == wp_recorder_pid || pid == wp_aggregator_pid)
        return false;
    return !wp_is_chosen_only || bpf_map_lookup_elem(&chosen, &pid);
}

static __always_inline struct task_struct *current_task(void)
{
    return (struct task_struct *)bpf_get_current_task_btf();
}

static __always_inline bool is_current_here(void)
{
    return !wp_netns_inum || is_here(current_task());
}

/* A pointer's value as a number: the verifier allows no arithmetic with pointers, but lets memory be read. */
static __always_inline __u64 address_of(const void *pointer_to_pointer)
{
    __u64 value = 0;
    bpf_probe_read_kernel(&value, sizeof(value), pointer_to_pointer);
    return value;
}

/* The same where a map has a place for it: what is read from a map is a number, and no helper is called. */
static __always_inline __u64 number_of(volatile __u64 *place, const void *pointer)
{
    *place = (__u64)(unsigned long)pointer;
    return *place;
}

/* A word of the kernel's memory; 0 where there is none. */
static __always_inline __u64 word_at(__u64 address)
{
#ifdef WP_PLAIN
    __u64 word = 0;
    bpf_probe_read_kernel(&word, sizeof(word), (void *)address);
    return word;
#else
    return CAST(load_weight, address)->weight;
#endif
}

static __always_inline __u64 mix(__u64 h, __u64 word)
{
    h = (h ^ word) * 0x9e3779b97f4a7c15ull;
    return h ^ h >> 29;
}

/* The head of a record about the thread `task`, or about the idle task when it is not of this host. */
static __always_inline void fill_head(struct wp_record *r, __u8 kind, struct task_struct *task)
{
    __builtin_memset(r, 0, sizeof(*r));
    r->time_ns = bpf_ktime_get_ns();
    r->kind = kind;
    r->cpu = (__u16)bpf_get_smp_processor_id();
    if (is_here(task)) {
        r->tid = task->pid;
        r->pid = task->tgid;
    }
}

/* A fixed-size record in the ring, or NULL (counted). */
#define RESERVE(type, kind)                                                                                            \
    ({                                                                                                                 \
        type *made = bpf_ringbuf_reserve(&ring, sizeof(type), 0);                                                      \
        if (!made)                                                                                                     \
            count_drop(kind);                                                                                          \
        made;                                                                                                          \
    })

static __always_inline void submit(void *record)
{
    bpf_ringbuf_submit(record, wake_flag());
}

/* Of what user space must look at before the process is gone: the reader is woken. */
static __always_inline void submit_now(void *record)
{
    bpf_ringbuf_submit(record, BPF_RB_FORCE_WAKEUP);
}

/* Sends a head without a tail, and no more of it than says something. False: there was no room (counted). */
static __always_inline bool send_head(struct wp_record *r)
{
    bool is_short = !(r->a | r->b | r->kernel_ips | r->user_ips);
    if (!bpf_ringbuf_output(&ring, r, is_short ? WP_RECORD_SHORT : sizeof(*r), wake_flag()))
        return true;
    count_drop(r->kind);
    return false;
}

static __always_inline void fill_task(struct wp_record_task *out, struct task_struct *task)
{
    out->start_ns = task->start_time;
    out->cgroup_id = BPF_CORE_READ(task, cgroups, dfl_cgrp, kn, id);
    out->is_kernel = !!(task->flags & PF_KTHREAD);
    out->reserved = 0;
    bpf_probe_read_kernel_str(out->comm, sizeof(out->comm), task->comm);
}

#endif
