/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_MEMORY_H
#define WP_COLLECTOR_BPF_MEMORY_H
/*
 * Memory cgroups that are at their limit (mm/memcontrol.c): a thread that has to free pages of its own remembers which
 * cgroup it is for, and its sleeps meanwhile tell that; and what each process of such a cgroup has, when somebody asks.
 */
#include "quota.h"
#include "wait.h"

#define REASON_MEMORY 5 /* as enum wp_reason of proto/event.h */
#define MEMORY_LEVELS 8 /* of nested cgroups, from the thread's up */
#define MEMORY_NO_LIMIT (0x7fffffffffffffffull >> 12)
#define MEMORY_NEAR 1024u        /* pages below a limit at most, or a sixteenth of it: what is freed in one go */
#define MEMORY_LOOK_NS 1000000u  /* a thread asks so often which cgroup it is */
#define MEMORY_AFTER_NS 5000000u /* above memory.high it sleeps so soon after it has freed pages */
#define TASK_KILLABLE 0x102      /* include/linux/sched.h */

volatile __u32 wp_memory_is_short SEC(".data") = 0; /* since somebody has asked last who has how much */

/* Whether the cgroup has used up what it may have, by its hard limit or, where there is such, memory.high (*is_high).
 */
static __always_inline bool is_short(struct page_counter *counter, bool *is_high)
{
    __u64 usage = BPF_CORE_READ(counter, usage.counter), most = BPF_CORE_READ(counter, max);
    __u64 high = bpf_core_field_exists(counter->high) ? BPF_CORE_READ(counter, high) : most;
    *is_high = high < most && usage > high;
    most = high < most ? high : most;
    __u64 near = most / 16 < MEMORY_NEAR ? most / 16 : MEMORY_NEAR;
    return most < MEMORY_NO_LIMIT && usage + near >= most;
}

/* The innermost cgroup of the task's memory that is short of it; told once. 0: none is. */
static __noinline __u64 short_group(struct task_struct *task, bool *is_high)
{
    if (!bpf_core_type_exists(struct mem_cgroup) || !bpf_core_enum_value_exists(enum cgroup_subsys_id, memory_cgrp_id))
        return 0;
    struct mem_cgroup *none = 0;
    __u32 id = bpf_core_enum_value(enum cgroup_subsys_id, memory_cgrp_id);
    struct css_set *set = BPF_CORE_READ(task, cgroups);
    struct mem_cgroup *group = 0;
    struct kernfs_node *node = 0;
    __u64 place = (__u64)(unsigned long)set + __builtin_preserve_field_info(set->subsys, BPF_FIELD_BYTE_OFFSET);
    if (!set || bpf_probe_read_kernel(&group, sizeof(group), (void *)(place + 8 * id))) /* css is its first member */
        return 0;
#pragma unroll
    for (int i = 0; i < MEMORY_LEVELS; i++) {
        if (!group || node)
            continue;
        if (is_short(&group->memory, is_high))
            node = BPF_CORE_READ(group, css.cgroup, kn);
        struct page_counter *parent = BPF_CORE_READ(group, memory.parent);
        group = parent ? (struct mem_cgroup *)((__u64)(unsigned long)parent -
                             __builtin_preserve_field_info(none->memory, BPF_FIELD_BYTE_OFFSET))
                       : 0;
    }
    __u64 key = node ? name_key(mix(0x6d656d, BPF_CORE_READ(node, id))) : 0;
    if (node && is_new_name(key))
        tell_group(node, key, WP_GROUP_MEMORY);
    return key;
}

/* Of a process, as the kernel counts it: files, anonymous pages, shared memory. What its threads have changed in the
 * last moment may be missing. */
static __always_inline __u64 resident_bytes(struct mm_struct *mm)
{
    struct mm_struct___percpu *exact = (void *)mm;
    struct mm_struct___atomic *old = (void *)mm;
    __s64 pages = 0;
    if (bpf_core_field_exists(exact->rss_stat[0].count)) /* since Linux 6.2 */
        pages = BPF_CORE_READ(exact, rss_stat[0].count) + BPF_CORE_READ(exact, rss_stat[1].count) +
            BPF_CORE_READ(exact, rss_stat[3].count);
    else if (bpf_core_field_exists(old->rss_stat.count))
        pages = BPF_CORE_READ(old, rss_stat.count[0].counter) + BPF_CORE_READ(old, rss_stat.count[1].counter) +
            BPF_CORE_READ(old, rss_stat.count[3].counter);
    return pages > 0 ? (__u64)pages << 12 : 0;
}

static __always_inline void tell_memory(struct task_struct *task, struct mm_struct *mm, __u64 key)
{
    struct wp_record r;
    fill_head(&r, KIND_REASON, task);
    r.c = REASON_MEMORY;
    r.a = resident_bytes(mm);
    r.stack_key = key;
    if (r.tid && r.a)
        send_head(&r);
}

/* A sleep of `task` that frees pages, or that memory.high makes it pay with. 0: it is for something else. */
static __always_inline __u64 memory_wait(struct memory_wait *memory, struct task_struct *task, __u64 now_ns)
{
    if (memory->is_inside)
        return memory->key;
    bool is_after = memory->over_ns && now_ns - memory->over_ns < MEMORY_AFTER_NS &&
        (task->__state & TASK_KILLABLE) == TASK_KILLABLE;
    __u64 key = is_after ? memory->key : 0;
    memory->key = key; /* as long as it sleeps for it again and again */
    memory->over_ns = is_after ? now_ns : 0;
    return key;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int wp_memcg_reclaim_end(unsigned long long *ctx)
{
    struct thread *thread = bpf_task_storage_get(&threads, current_task(), 0, 0);
    if (!thread || !thread->memory.is_inside)
        return 0;
    thread->memory.is_inside = 0;
    thread->memory.over_ns = thread->memory.is_high ? bpf_ktime_get_ns() : 0;
    return 0;
}

static __noinline int begin_reclaim(void)
{
    struct task_struct *task = current_task();
    if (is_between_windows() || !wp_walk_one_in || task->flags & PF_KTHREAD || !is_here(task) || !is_chosen(task->tgid))
        return 0;
    struct thread *thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    __u64 now_ns = bpf_ktime_get_ns();
    if (!thread)
        return 0;
    if (!thread->memory.key || now_ns - thread->memory.looked_ns > MEMORY_LOOK_NS) {
        bool is_high = false;
        thread->memory.key = short_group(task, &is_high);
        thread->memory.is_high = is_high;
        thread->memory.looked_ns = now_ns;
    }
    thread->memory.is_inside = thread->memory.key != 0;
    if (thread->memory.key && !wp_memory_is_short)
        wp_memory_is_short = 1;
    return 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int wp_memcg_reclaim_begin(unsigned long long *ctx)
{
    __u64 began_ns = begin_work();
    begin_reclaim();
    end_work(began_ns);
    return 0;
}

/* Each process of a cgroup that is short. */
SEC("iter/task")
int wp_memory(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    if (!task || task->pid != task->tgid || task->flags & PF_KTHREAD || !task->mm || !is_here(task) || task->exit_state)
        return 0;
    bool is_high;
    __u64 key = short_group(task, &is_high);
    if (key)
        tell_memory(task, task->mm, key);
    return 0;
}

#endif
