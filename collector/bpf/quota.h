/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_QUOTA_H
#define WP_COLLECTOR_BPF_QUOTA_H
/*
 * Threads that a quota of the CPU keeps from running (kernel/sched/fair.c): that one left its CPU by it, which cgroup's
 * it is, and, as the thread runs again, for how long. The kernel sums up for each queue how long it was throttled; what
 * it has added since the thread left says when the quota was there again, whoever had the CPU then.
 */
#include "cpu_buffer.h"
#include "told_path.h"

#define KIND_REASON 20 /* as enum wp_event_kind, and enum wp_reason, of proto/event.h */
#define REASON_QUOTA 1
#define CGROUP2_SUPER_MAGIC 0x63677270 /* include/uapi/linux/magic.h */
#define MAX_RT_PRIO 100                /* include/linux/sched/prio.h */
#define GROUP_LEVELS 32                /* of the path of one */
#define QUOTA_LEVELS 8                 /* of nested cgroups, from the thread's up */
#define QUOTA_MOST_NS 10000000000ull   /* a queue is not throttled as long: its clock is not understood */

/* A thread that is throttled. */
struct quota {
    __u64 queue;    /* address of its struct cfs_rq; 0: it is not */
    __u64 sum_ns;   /* that the queue had been throttled before */
    __u64 began_ns; /* since when it is now, and since when the thread is off its CPU */
    __u64 out_ns;
    __u64 group; /* key of the cgroup's name; 0: not known */
    __u64 period_ns;
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct quota);
} quotas SEC(".maps");

volatile __u32 wp_throttled SEC(".data") = 0; /* threads; while there are none nobody is looked up */

/* It is runnable, and its cgroup has used up its quota: since Linux 6.18 it leaves the queue itself, before that its
 * group's whole queue does, which a task of another class still points to. */
static __always_inline bool is_throttled(struct task_struct *task)
{
    if (bpf_core_field_exists(((struct task_struct___throttled *)0)->throttled))
        return BPF_CORE_READ((struct task_struct___throttled *)task, throttled);
    if (task->prio < MAX_RT_PRIO || !bpf_core_field_exists(((struct sched_entity___group *)0)->cfs_rq) ||
        !bpf_core_field_exists(((struct cfs_rq___quota *)0)->throttle_count))
        return false;
    return BPF_CORE_READ((struct task_struct___group *)task, se.cfs_rq, throttle_count) > 0;
}

/* Since Linux 6.6 the sum is of the scheduler's clock, before that of the clock of its averages, which stands still
 * where interrupts and the hypervisor have the CPU. */
static __always_inline __u64 throttled_ns(struct cfs_rq___quota *queue)
{
    if (bpf_core_field_exists(queue->throttled_clock_self_time))
        return BPF_CORE_READ(queue, throttled_clock_self_time);
    return bpf_core_field_exists(queue->throttled_clock_pelt_time) ? BPF_CORE_READ(queue, throttled_clock_pelt_time)
                                                                   : 0;
}

/* When the queue was throttled, by our clock; another thread of it may have been off its CPU before. */
static __always_inline __u64 throttled_since(struct cfs_rq___quota *queue, __u64 now_ns, __u64 offset_ns)
{
    __u64 clock_ns =
        bpf_core_field_exists(queue->throttled_clock_self) ? BPF_CORE_READ(queue, throttled_clock_self) : 0;
    __u64 since_ns = clock_ns + offset_ns;
    return clock_ns && offset_ns && since_ns < now_ns && now_ns - since_ns < QUOTA_MOST_NS ? since_ns : now_ns;
}

static __always_inline struct kernfs_node *folder_of(struct kernfs_node *node)
{
    struct kernfs_node___linked *linked = (void *)node;
    struct kernfs_node___counted *counted = (void *)node;
    if (bpf_core_field_exists(linked->__parent)) /* since Linux 6.15 */
        return (struct kernfs_node *)BPF_CORE_READ(linked, __parent);
    return bpf_core_field_exists(counted->parent) ? (struct kernfs_node *)BPF_CORE_READ(counted, parent) : 0;
}

struct group_record {
    struct wp_record head;
    struct wp_record_group group;
};

/* Its path below the root of its hierarchy; kind: WP_GROUP_*. */
static __noinline void tell_group(struct kernfs_node *node, __u64 key, __u32 kind)
{
    struct group_record *r = RESERVE(struct group_record, WP_RECORD_GROUP);
    if (!r)
        return;
    fill_head(&r->head, WP_RECORD_GROUP, current_task());
    r->head.a = key;
    r->head.c = kind;
    r->head.tail = sizeof(r->group);
    __u32 size = 0;
    for (int i = 0; i < GROUP_LEVELS; i++) {
        struct kernfs_node *folder = node ? folder_of(node) : 0;
        if (!folder || size >= WP_RECORD_GROUP_BYTES)
            break;
        __u32 at = size;
        barrier_var(at);
        at &= WP_RECORD_GROUP_BYTES - 1;
        long got = bpf_probe_read_kernel_str(r->group.names + at, WP_RECORD_GROUP_NAME, BPF_CORE_READ(node, name));
        if (got <= 0)
            break;
        size += got;
        node = folder;
    }
    r->group.size = size;
    r->group.is_cut = node && folder_of(node);
    submit(r);
}

/* The innermost cgroup above that queue whose quota is used up. */
static __always_inline void find_group(struct quota *quota, struct cfs_rq___quota *queue)
{
    __u32 cpu = bpf_get_smp_processor_id();
    struct kernfs_node *node = 0;
#pragma unroll
    for (int i = 0; i < QUOTA_LEVELS; i++) {
        if (!queue || node)
            continue;
        struct task_group___quota *group = BPF_CORE_READ(queue, tg);
        if (BPF_CORE_READ_BITFIELD_PROBED(queue, throttled)) {
            node = BPF_CORE_READ(group, css.cgroup, kn);
            quota->period_ns = BPF_CORE_READ(group, cfs_bandwidth.period);
        }
        struct cfs_rq___quota **queues = BPF_CORE_READ(group, parent, cfs_rq);
        queue = 0;
        if (queues)
            bpf_probe_read_kernel(&queue, sizeof(queue), queues + cpu);
    }
    quota->group = node ? name_key(mix(CGROUP2_SUPER_MAGIC, BPF_CORE_READ(node, id))) : 0;
    if (node && is_new_name(quota->group))
        tell_group(node, quota->group, WP_GROUP_QUOTA);
}

/* The current task leaves its CPU throttled. Global: verified once. */
__noinline int keep_quota(__u64 now_ns, __u64 offset_ns)
{
    struct task_struct *task = current_task();
    if (!bpf_core_field_exists(((struct cfs_rq___quota *)0)->tg))
        return 0;
    struct cfs_rq___quota *queue = (void *)BPF_CORE_READ((struct task_struct___group *)task, se.cfs_rq);
    struct quota *quota = bpf_task_storage_get(&quotas, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!queue || !quota)
        return 0;
    if (!quota->queue)
        __sync_fetch_and_add(&wp_throttled, 1);
    quota->queue = (__u64)(unsigned long)queue;
    quota->sum_ns = throttled_ns(queue);
    quota->began_ns = throttled_since(queue, now_ns, offset_ns);
    quota->out_ns = now_ns;
    quota->period_ns = 0;
    find_group(quota, queue);
    return 0;
}

/* A thread comes to a CPU that may have been throttled. */
static __noinline int tell_quota(struct task_struct *next)
{
    struct quota *quota = bpf_task_storage_get(&quotas, next, 0, 0);
    struct wp_record r;
    if (!quota || !quota->queue)
        return 0;
    __u64 sum_ns = throttled_ns((struct cfs_rq___quota *)quota->queue), added_ns = sum_ns - quota->sum_ns;
    quota->queue = 0;
    __sync_fetch_and_add(&wp_throttled, -1);
    fill_head(&r, KIND_REASON, next);
    __u64 end_ns = quota->began_ns + added_ns;
    if (!added_ns || added_ns > r.time_ns || !r.tid)
        return 0; /* the queue is gone, or the thread has left it */
    r.c = REASON_QUOTA;
    r.a = end_ns >= r.time_ns ? r.time_ns - quota->out_ns : end_ns > quota->out_ns ? end_ns - quota->out_ns : 0;
    r.b = quota->period_ns;
    r.stack_key = quota->group;
    send_quick(&r);
    return 0;
}

#endif
