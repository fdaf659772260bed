/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_QUOTA_H
#define WP_COLLECTOR_BPF_QUOTA_H
/*
 * Threads that a quota of the CPU keeps from running (kernel/sched/fair.c): that one left its CPU by it, which cgroup's
 * it is, and, as the thread runs again, for how long. The kernel sums up for each queue how long it was throttled; what
 * it has added since the thread left says when the quota was there again, whoever had the CPU then.
 *
 * Since Linux 6.18 each thread of the cgroup comes to a CPU and leaves it by the quota. Before that whoever is in the
 * queue as it is throttled, or is woken into it, only waits: what its queue has been through is remembered, and
 * reported as those run again who have waited for long.
 */
#include "cpu_buffer.h"
#include "told_path.h"

#define KIND_REASON 20 /* as enum wp_event_kind, and enum wp_reason, of proto/event.h */
#define REASON_QUOTA 1
#define REASON_QUEUE_QUOTA 7
#define REASON_SLEEP 8
#define CGROUP2_SUPER_MAGIC 0x63677270 /* include/uapi/linux/magic.h */
#define MAX_RT_PRIO 100                /* include/linux/sched/prio.h */
#define GROUP_LEVELS 32                /* of the path of one */
#define QUOTA_LEVELS 8                 /* of nested cgroups, from the thread's up */
#define QUOTA_MOST_NS 10000000000ull   /* a queue is not throttled as long: its clock is not understood */
#define QUOTA_LEAST_NS 1000000u        /* waited in a queue; a period is as long at least */
#define QUEUE_ROWS 8u                  /* that are remembered of a queue */
#define QUEUE_PERIOD_US 0xffffffu      /* the longest that can be told */

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

/* What a queue had been throttled for altogether at some time. */
struct queue_row {
    __u64 time_ns, sum_ns;
    __u64 is_begin; /* it was throttled at that time */
};

struct queue_past {
    __u64 group; /* key of the cgroup's name */
    __u64 count; /* of rows, so far */
    struct queue_row rows[QUEUE_ROWS];
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1024);
    __type(key, __u64); /* address of its struct cfs_rq */
    __type(value, struct queue_past);
} queue_pasts SEC(".maps");

volatile __u32 wp_throttled SEC(".data") = 0; /* threads; while there are none nobody is looked up */

/* Since Linux 6.18 each thread of a throttled cgroup leaves its CPU by it. */
static __always_inline bool has_own_quota(void)
{
    return bpf_core_field_exists(((struct task_struct___throttled *)0)->throttled);
}

/* It is runnable, and its cgroup has used up its quota: since Linux 6.18 it leaves the queue itself, before that its
 * group's whole queue does, which a task of another class still points to. */
static __always_inline bool is_throttled(struct task_struct *task)
{
    if (has_own_quota())
        return ((struct task_struct___throttled *)task)->throttled;
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

/* The path of a kernfs_node below the root of its hierarchy; kind: WP_GROUP_*. Not static: as tell_path. */
__noinline int tell_group(__u64 node_at, __u64 key, __u32 kind)
{
    struct kernfs_node *node = (struct kernfs_node *)node_at;
    struct group_record *r = RESERVE(struct group_record, WP_RECORD_GROUP);
    if (!r)
        return 0;
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
    return 0;
}

/* Of the cgroup, told by its name. */
static __always_inline __u64 group_key(struct kernfs_node *node)
{
    __u64 key = node ? name_key(mix(CGROUP2_SUPER_MAGIC, BPF_CORE_READ(node, id))) : 0;
    if (node && is_new_name(key))
        tell_group((__u64)(unsigned long)node, key, WP_GROUP_QUOTA);
    return key;
}

static __always_inline struct cfs_rq___quota *queue_above(struct task_group___quota *group)
{
    struct cfs_rq___quota **queues = BPF_CORE_READ(group, parent, cfs_rq), *queue = 0;
    if (queues)
        bpf_probe_read_kernel(&queue, sizeof(queue), queues + bpf_get_smp_processor_id());
    return queue;
}

static const struct queue_past no_past;

/* Of that queue, which is this CPU's and so nobody else's to change. */
static __always_inline struct queue_past *past_of(__u64 queue, __u64 group)
{
    struct queue_past *past = bpf_map_lookup_elem(&queue_pasts, &queue);
    if (past)
        return past;
    bpf_map_update_elem(&queue_pasts, &queue, &no_past, BPF_ANY);
    past = bpf_map_lookup_elem(&queue_pasts, &queue);
    if (past)
        past->group = group;
    return past;
}

static __always_inline void add_row(struct queue_past *past, __u64 time_ns, __u64 sum_ns, bool is_begin)
{
    struct queue_row *last = &past->rows[(past->count - 1) & (QUEUE_ROWS - 1)];
    bool is_same = !is_begin && past->count && !last->is_begin && last->sum_ns == sum_ns;
    past->count += !is_same;
    struct queue_row *row = &past->rows[(past->count - 1) & (QUEUE_ROWS - 1)];
    row->time_ns = time_ns;
    row->sum_ns = sum_ns;
    row->is_begin = is_begin;
}

/* The innermost cgroup above that queue whose quota is used up. */
static __always_inline void find_group(struct quota *quota, struct cfs_rq___quota *queue)
{
    struct cfs_rq___quota *limited = 0;
    struct kernfs_node *node = 0;
#pragma unroll
    for (int i = 0; i < QUOTA_LEVELS; i++) {
        if (!queue || node)
            continue;
        struct task_group___quota *group = BPF_CORE_READ(queue, tg);
        if (BPF_CORE_READ_BITFIELD_PROBED(queue, throttled)) {
            node = BPF_CORE_READ(group, css.cgroup, kn);
            quota->period_ns = BPF_CORE_READ(group, cfs_bandwidth.period);
            limited = queue;
        }
        queue = queue_above(group);
    }
    quota->group = group_key(node);
    if (has_own_quota() || !limited)
        return;
    struct queue_past *past = past_of((__u64)(unsigned long)limited, quota->group);
    if (past)
        add_row(past, quota->began_ns, throttled_ns(limited), true);
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

/* A thread comes to a CPU that may have been throttled. 1: it was, since it left its CPU. */
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
        return 1; /* the queue is gone, or the thread has left it */
    r.c = REASON_QUOTA;
    r.a = end_ns >= r.time_ns ? r.time_ns - quota->out_ns : end_ns > quota->out_ns ? end_ns - quota->out_ns : 0;
    r.b = quota->period_ns;
    r.stack_key = quota->group;
    send_quick(&r);
    return 1;
}

/* A thread that comes to a CPU. */
struct queued {
    struct wp_record record;
    __u64 since_ns; /* when it came into the queue */
    struct cfs_rq___quota *queue;
};

/* So long the queue was throttled while the thread stood in it: from the latest time on. */
static __always_inline void tell_past(struct queued *queued, struct queue_past *past, __u64 sum_ns)
{
    __u64 until_ns = queued->record.time_ns;
    for (__u32 i = 0; i < QUEUE_ROWS; i++) {
        struct queue_row *row = &past->rows[(past->count - 1 - i) & (QUEUE_ROWS - 1)];
        __u64 added_ns = sum_ns - row->sum_ns;
        if (i >= past->count || until_ns <= queued->since_ns || added_ns > QUOTA_MOST_NS)
            break;
        __u64 begin_ns = row->is_begin ? row->time_ns : until_ns - added_ns, end_ns = begin_ns + added_ns;
        begin_ns = begin_ns < queued->since_ns ? queued->since_ns : begin_ns;
        end_ns = end_ns > until_ns ? until_ns : end_ns;
        if (added_ns && begin_ns < end_ns) {
            queued->record.a = end_ns - begin_ns;
            queued->record.b = queued->record.time_ns - end_ns;
            send_quick(&queued->record);
        }
        sum_ns = row->sum_ns;
        until_ns = row->time_ns;
    }
}

/* The next queue of those that it stands in, from its own up. */
static long tell_level(__u32 index, void *context)
{
    struct queued *queued = context;
    struct cfs_rq___quota *queue = queued->queue;
    if (!queue)
        return 1;
    struct task_group___quota *group = BPF_CORE_READ(queue, tg);
    queued->queue = queue_above(group);
    if (!BPF_CORE_READ(queue, runtime_enabled))
        return 0;
    __u64 period_ns = BPF_CORE_READ(group, cfs_bandwidth.period), sum_ns = throttled_ns(queue);
    __u64 period_us = period_ns / 1000 < QUEUE_PERIOD_US ? period_ns / 1000 : QUEUE_PERIOD_US;
    struct queue_past *past = past_of((__u64)(unsigned long)queue, group_key(BPF_CORE_READ(group, css.cgroup, kn)));
    if (!past)
        return 1;
    queued->record.c = REASON_QUEUE_QUOTA | (__u32)period_us << 8;
    queued->record.stack_key = past->group;
    tell_past(queued, past, sum_ns);
    add_row(past, queued->record.time_ns, sum_ns, false);
    return 0;
}

/* A thread comes to a CPU at that time, which has been in its queue for long. */
static __noinline int tell_queue_quota(struct task_struct *next, __u64 now_ns, __u64 since_ns)
{
    struct queued queued = {.since_ns = since_ns};
    fill_head(&queued.record, KIND_REASON, next);
    queued.record.time_ns = now_ns;
    queued.queue = (void *)BPF_CORE_READ((struct task_struct___group *)next, se.cfs_rq);
    if (queued.record.tid)
        bpf_loop(QUOTA_LEVELS, tell_level, &queued, 0);
    return 0;
}

/* Before Linux 6.18. */
static __always_inline bool may_have_waited(struct task_struct *next)
{
    return !has_own_quota() && bpf_core_field_exists(((struct cfs_rq___quota *)0)->tg) && next->pid &&
        next->prio >= MAX_RT_PRIO;
}

static __always_inline void look_at_queue(struct task_struct *next, __u64 now_ns, __u64 offset_ns)
{
    if (!may_have_waited(next) || !offset_ns)
        return;
    __u64 since_ns = next->sched_info.last_queued + offset_ns, waited_ns = now_ns - since_ns;
    if (next->sched_info.last_queued && waited_ns > QUOTA_LEAST_NS && waited_ns < QUOTA_MOST_NS)
        tell_queue_quota(next, now_ns, since_ns);
}

#endif
