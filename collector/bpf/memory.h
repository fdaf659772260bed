/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_MEMORY_H
#define WP_COLLECTOR_BPF_MEMORY_H
/*
 * Memory cgroups that are at their limit (mm/memcontrol.c), and the whole machine where that is: a thread that has to
 * free pages remembers for which of them it does, and its sleeps meanwhile tell that; what each process there has, when
 * somebody asks; and whose memory had run out where the kernel kills a process (mm/oom_kill.c).
 */
#include "quota.h"
#include "wait.h"

#define REASON_MEMORY 5 /* as enum wp_reason of proto/event.h */
#define REASON_OOM 6
#define MEMORY_LEVELS 8 /* of nested cgroups, from the thread's up */
#define MEMORY_NO_LIMIT (0x7fffffffffffffffull >> 12)
#define MEMORY_NEAR 1024u        /* pages below a limit at most, or a sixteenth of it: what is freed in one go */
#define MEMORY_OUT 64u           /* so near is one that a charge has just failed at: MEMCG_CHARGE_BATCH */
#define MEMORY_LEAST (1u << 20)  /* bytes of a process that counts on a whole machine */
#define MEMORY_LOOK_NS 1000000u  /* a thread asks so often which cgroup it is */
#define MEMORY_AFTER_NS 5000000u /* above memory.high it sleeps so soon after it has freed pages */
#define TASK_UNINTERRUPTIBLE 2   /* include/linux/sched.h */
#define TASK_KILLABLE 0x102

#define SHORT_GROUP 1u
#define SHORT_MACHINE 2u
volatile __u32 wp_memory_is_short SEC(".data") = 0;  /* bits, since somebody has asked last who has how much */
volatile __u32 wp_memory_is_listed SEC(".data") = 0; /* the bits as somebody asks now */

/* Whether the cgroup has used up what it may have, by its hard limit or, where there is such, memory.high (*is_high).
 */
static __always_inline bool is_short(struct page_counter *counter, __u64 near, bool *is_high)
{
    __u64 usage = BPF_CORE_READ(counter, usage.counter), most = BPF_CORE_READ(counter, max);
    __u64 high = bpf_core_field_exists(counter->high) ? BPF_CORE_READ(counter, high) : most;
    *is_high = high < most && usage > high;
    most = high < most ? high : most;
    near = most / 16 < near ? most / 16 : near;
    return most < MEMORY_NO_LIMIT && usage + near >= most;
}

/* The innermost cgroup of the task's memory that is so near to its limit; told once. 0: none is. */
static __noinline __u64 short_group(struct task_struct *task, __u64 near, bool *is_high)
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
        if (is_short(&group->memory, near, is_high))
            node = BPF_CORE_READ(group, css.cgroup, kn);
        struct page_counter *parent = BPF_CORE_READ(group, memory.parent);
        group = parent ? (struct mem_cgroup *)((__u64)(unsigned long)parent -
                             __builtin_preserve_field_info(none->memory, BPF_FIELD_BYTE_OFFSET))
                       : 0;
    }
    __u64 key = node ? name_key(mix(0x6d656d, BPF_CORE_READ(node, id))) : 0;
    if (node && is_new_name(key))
        tell_group((__u64)(unsigned long)node, key, WP_GROUP_MEMORY);
    return key;
}

/* The whole machine, as a cgroup without a path; told once. */
static __always_inline __u64 short_machine(void)
{
    __u64 key = name_key(mix(0x6d656d, 0));
    if (is_new_name(key))
        tell_group(0, key, WP_GROUP_MEMORY);
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

/* A sleep of the current task that frees pages, or that memory.high makes it pay with, or of a page fault (`is_fault`:
 * it is in no call) that reads again what had been given up. 0: it is for something else. Not static, as tell_path().
 */
__noinline __u64 memory_wait(__u64 now_ns, __u32 is_fault)
{
    struct task_struct *task = current_task();
    struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
    if (!thread)
        return 0;
    struct memory_wait *memory = &thread->memory;
    if (memory->is_inside)
        return memory->key;
    __u64 again = is_fault && task->__state & TASK_UNINTERRUPTIBLE && now_ns - memory->again_ns < MEMORY_AFTER_NS
        ? memory->again
        : 0;
    bool is_after = memory->over_ns && now_ns - memory->over_ns < MEMORY_AFTER_NS &&
        (task->__state & TASK_KILLABLE) == TASK_KILLABLE;
    memory->key = is_after ? memory->key : 0; /* as long as it sleeps for it again and again */
    memory->over_ns = is_after ? now_ns : 0;
    memory->again = 0;
    return memory->key ? memory->key : again;
}

static __always_inline void end_reclaim(void)
{
    struct thread *thread = bpf_task_storage_get(&threads, current_task(), 0, 0);
    if (!thread || !thread->memory.is_inside)
        return;
    thread->memory.is_inside = 0;
    thread->memory.over_ns = thread->memory.is_high ? bpf_ktime_get_ns() : 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int wp_memcg_reclaim_end(unsigned long long *ctx)
{
    end_reclaim();
    return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int wp_direct_reclaim_end(unsigned long long *ctx)
{
    end_reclaim();
    return 0;
}

static __noinline int begin_reclaim(bool is_machine)
{
    struct task_struct *task = current_task();
    if (is_between_windows() || !wp_walk_one_in || task->flags & PF_KTHREAD || !is_here(task) || !is_chosen(task->tgid))
        return 0;
    struct thread *thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    __u64 now_ns = bpf_ktime_get_ns();
    if (!thread)
        return 0;
    if (is_machine) {
        thread->memory.key = short_machine();
        thread->memory.is_high = 0;
        thread->memory.looked_ns = 0;
    } else if (!thread->memory.key || now_ns - thread->memory.looked_ns > MEMORY_LOOK_NS) {
        bool is_high = false;
        thread->memory.key = short_group(task, MEMORY_NEAR, &is_high);
        thread->memory.is_high = is_high;
        thread->memory.looked_ns = now_ns;
    }
    thread->memory.is_inside = thread->memory.key != 0;
    __u32 is_short = is_machine ? SHORT_MACHINE : SHORT_GROUP;
    if (thread->memory.key && !(wp_memory_is_short & is_short))
        wp_memory_is_short |= is_short;
    return 0;
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int wp_memcg_reclaim_begin(unsigned long long *ctx)
{
    __u64 began_ns = begin_work();
    begin_reclaim(false);
    end_work(began_ns);
    return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int wp_direct_reclaim_begin(unsigned long long *ctx)
{
    __u64 began_ns = begin_work();
    begin_reclaim(true);
    end_work(began_ns);
    return 0;
}

/* The current task waits for a page that it had had (reread.h): because a cgroup is short of memory, if one is. */
static __noinline int note_again(void)
{
    struct task_struct *task = current_task();
    struct thread *thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    bool is_high;
    if (!thread)
        return 0;
    thread->memory.again = short_group(task, MEMORY_NEAR, &is_high);
    thread->memory.again_ns = bpf_ktime_get_ns();
    return 0;
}

/* The current task could not have memory, and the kernel chooses whom to kill: since Linux 6.9 it tells the task,
 * before that its number. Which of the cgroups was out of it, the limit says that is used up; none: the machine was. A
 * host that is a network namespace does not know whose the victim is. */
SEC("raw_tp/mark_victim")
int wp_oom(struct bpf_raw_tracepoint_args *ctx)
{
    __u64 told = ctx->args[0];
    struct task_struct *victim = told >> 32 ? (struct task_struct *)told : 0;
    if (is_unwatched() || wp_netns_inum)
        return 0;
    bool is_high = false;
    __u64 key = short_group(current_task(), MEMORY_OUT, &is_high);
    struct wp_record r;
    fill_head(&r, KIND_REASON, current_task());
    r.tid = r.pid = victim ? (__u32)BPF_CORE_READ(victim, tgid) : (__u32)told;
    r.c = REASON_OOM;
    struct mm_struct *mm = victim ? BPF_CORE_READ(victim, mm) : 0;
    r.a = mm ? resident_bytes(mm) : 0;
    r.stack_key = key ? key : short_machine();
    if (r.tid)
        send_head(&r);
    return 0;
}

/* Each process of a cgroup that is short, or of a machine. */
SEC("iter/task")
int wp_memory(struct bpf_iter__task *ctx)
{
    struct task_struct *task = ctx->task;
    if (!task || task->pid != task->tgid || task->flags & PF_KTHREAD || !task->mm || !is_here(task) || task->exit_state)
        return 0;
    bool is_high;
    __u64 key = wp_memory_is_listed & SHORT_GROUP ? short_group(task, MEMORY_NEAR, &is_high) : 0;
    if (key)
        tell_memory(task, task->mm, key);
    if (wp_memory_is_listed & SHORT_MACHINE && resident_bytes(task->mm) >= MEMORY_LEAST)
        tell_memory(task, task->mm, short_machine());
    return 0;
}

#endif
