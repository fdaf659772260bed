/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_SEIZE_H
#define WP_COLLECTOR_BPF_SEIZE_H
/*
 * What takes a CPU from the thread that has it: interrupts, soft interrupts and the hypervisor. Their times are summed
 * up by number, and told as the CPU goes to another thread. A soft interrupt that a thread begins itself, as one does
 * that sends over the loopback device, is that thread's own doing; so are all while stacks are left out. Where no
 * program is called as they begin, those count that follow an interrupt at once.
 */
#include "cause.h"
#include "quota.h"
#include "wait.h"

#define REASON_INTERRUPT 2 /* as enum wp_reason of proto/event.h */
#define REASON_SOFT_INTERRUPT 3
#define REASON_STEAL 4
#define SEIZED_LEAST_NS 5000  /* of one number in one run; less is the thread's that had the CPU */
#define SEIZED_MOST_NS 500000 /* is told at once: the thread may have the CPU for long */

/* Places of struct seized: of the hypervisor, of soft interrupts by their vector, of interrupts: see hard_place. */
#define SEIZED_STEAL 0
#define SEIZED_SOFT 1
#define SEIZED_HARD 12

static __always_inline __u64 seized_key(const struct seized *s, __u32 place)
{
    bool is_soft = place < SEIZED_HARD;
    __u64 number = is_soft ? place - SEIZED_SOFT : s->irq[place & 3], name = is_soft ? 0 : s->name[place & 3];
    return name_key(mix(mix(mix(0x697271, is_soft), number), name));
}

/* From any context: the scratch memory of waits may be in use. */
static __noinline int tell_seized_name(struct seized *s, __u32 place, __u64 key)
{
    struct wait_record *r = RESERVE(struct wait_record, WP_RECORD_WAIT);
    if (!r)
        return 0;
    fill_head(&r->head, WP_RECORD_WAIT, current_task());
    __builtin_memset(&r->wait, 0, sizeof(r->wait));
    r->head.a = key;
    r->head.tail = sizeof(r->wait);
    r->wait.type = place < SEIZED_HARD ? WP_WAIT_SOFT_INTERRUPT : WP_WAIT_INTERRUPT;
    r->wait.address = place < SEIZED_HARD ? place - SEIZED_SOFT : s->irq[place & 3];
    if (place >= SEIZED_HARD && s->name[place & 3])
        bpf_probe_read_kernel_str(r->wait.path, sizeof(r->wait.path), (const void *)s->name[place & 3]);
    submit(r);
    return 0;
}

/* Not static: the verifier walks it once, not once for each state of each caller. */
__noinline int tell_seizure(struct seized *s, __u32 place, __u64 ns, __u64 time_ns)
{
    struct wp_record r;
    if (!s)
        return 0;
    fill_head(&r, KIND_REASON, current_task());
    r.tid = r.pid = 0;
    r.time_ns = time_ns;
    r.a = ns;
    r.c = place == SEIZED_STEAL ? REASON_STEAL : place < SEIZED_HARD ? REASON_SOFT_INTERRUPT : REASON_INTERRUPT;
    if (place != SEIZED_STEAL) {
        r.stack_key = seized_key(s, place);
        if (is_new_name(r.stack_key))
            tell_seized_name(s, place, r.stack_key);
    }
    send_quick(&r);
    return 0;
}

struct seized_run {
    struct seized *seized;
    __u64 left_ns, now_ns;
    bool is_told, is_over;
};

static long sum_seized(__u32 place, void *argument)
{
    struct seized_run *run = argument;
    if (!run->seized)
        return 1;
    barrier_var(place);
    __u64 ns = run->seized->ns[place & (SEIZED_PLACES - 1)];
    run->left_ns += ns >= SEIZED_LEAST_NS ? ns : 0;
    return 0;
}

static long tell_seized_place(__u32 place, void *argument)
{
    struct seized_run *run = argument;
    struct seized *s = run->seized;
    if (!s)
        return 1;
    barrier_var(place);
    place &= SEIZED_PLACES - 1;
    __u64 ns = s->ns[place];
    if (ns < SEIZED_LEAST_NS && !run->is_over)
        return 0;
    s->ns[place] = 0;
    if (ns < SEIZED_LEAST_NS)
        return 0;
    run->left_ns -= ns < run->left_ns ? ns : run->left_ns; /* an interrupt may have added to it meanwhile */
    if (run->is_told && run->left_ns < run->now_ns)
        tell_seizure(s, place, ns, run->now_ns - run->left_ns);
    return 0;
}

/* Of the run that has come to `now_ns`, one behind the other: what the hypervisor took is where it is least known when
 * that was. Between windows it is forgotten. `is_over` false: the run goes on, and what is little yet is kept. By
 * bpf_loop: Linux 6.1 takes a loop whose head the code before it runs into for one without an end ("back-edge"). */
static __noinline int tell_seized(struct seized *s, __u64 now_ns, bool is_over)
{
    struct seized_run run = {.seized = s, .now_ns = now_ns, .is_told = !is_between_windows(), .is_over = is_over};
    s->is_any = !is_over;
    bpf_loop(SEIZED_PLACES, sum_seized, &run, 0);
    bpf_loop(SEIZED_PLACES, tell_seized_place, &run, 0);
    return 0;
}

/* What the hypervisor had of this CPU, as the scheduler counts it before each switch and at each tick
 * (kernel/sched/core.c). */
static __always_inline void add_steal(struct seized *s, struct task_struct *running)
{
    if (!bpf_core_field_exists(((struct sched_entity___queue *)0)->cfs_rq) ||
        !bpf_core_field_exists(((struct cfs_rq___queue *)0)->rq) ||
        !bpf_core_field_exists(((struct rq___steal *)0)->prev_steal_time_rq))
        return;
    __u64 steal_ns = ((struct task_struct___queue *)LOOSE(task_struct, running))->se.cfs_rq->rq->prev_steal_time_rq + 1;
    if (likely(steal_ns == s->steal_ns))
        return;
    if (s->steal_ns && steal_ns > s->steal_ns) {
        s->ns[SEIZED_STEAL] += steal_ns - s->steal_ns;
        s->is_any = 1;
    }
    s->steal_ns = steal_ns;
}

/* In a run that goes on. The reader takes what is told later to be later: the hypervisor's is told along. */
static __always_inline void tell_midway(struct seized *s, __u64 now_ns)
{
    add_steal(s, current_task());
    tell_seized(s, now_ns, false);
}

static __always_inline void add_seized(struct seized *s, __u32 place, __u64 ns, __u64 now_ns)
{
    barrier_var(place);
    place &= SEIZED_PLACES - 1;
    s->ns[place] += ns;
    s->is_any = 1;
    if (unlikely(s->ns[place] >= SEIZED_MOST_NS))
        tell_midway(s, now_ns);
}

/* `prev` leaves this CPU. */
static __always_inline void end_seized(struct cpu_context *context, struct task_struct *prev)
{
    struct seized *s = &context->seized;
    add_steal(s, prev);
    s->began_ns[0] = s->followers = 0; /* a kernel that is preempted in soft interrupts, or leaves them to a thread */
    s->is_device = 0;
    s->ended_ns = 0;
    if (unlikely(s->is_any))
        tell_seized(s, bpf_ktime_get_ns(), true);
}

/* The one that an interrupt's number and handler have, else one that holds nothing, else by what is left of the number:
 * what little that holds is forgotten. */
static __always_inline __u32 hard_place(const struct seized *s, __u32 irq, __u64 name)
{
    __u32 at = irq & 3;
#pragma unroll
    for (__u32 i = 0; i < 4; i++) {
        if (s->irq[i] == irq && s->name[i] == name)
            return i;
        if (!s->ns[SEIZED_HARD + i])
            at = i;
    }
    return at;
}

static __noinline int end_irq(struct seized *s, int irq, struct irqaction *action)
{
    __u64 now_ns = bpf_ktime_get_ns(), ns = now_ns - s->began_ns[1];
    __u64 name = (__u64)(unsigned long)BPF_CORE_READ(action, name);
    __u32 at = hard_place(s, irq, name);
    s->began_ns[1] = 0;
    s->hard_ns += ns;
    barrier_var(at);
    at &= 3;
    if (unlikely((s->irq[at] != (__u32)irq || s->name[at] != name) && s->ns[SEIZED_HARD + at])) {
        tell_midway(s, now_ns);
        s->ns[SEIZED_HARD + at] = 0;
    }
    s->irq[at] = irq;
    s->name[at] = name;
    add_seized(s, SEIZED_HARD + at, ns, now_ns);
    return 0;
}

/* What is left of the mark is not looked at any more, and the next one's beginning clears it. */
SEC("tp_btf/irq_handler_exit")
int WORK_PROG(wp_irq_exit, int irq, struct irqaction *action)
{
    struct cpu_context *context = cpu_context();
    if (!context)
        return 0;
    context->in_irq = 0;
    if (context->seized.began_ns[1])
        end_irq(&context->seized, irq, action);
    expect_softirqs(context, true);
    return 0;
}

/* Does it count, of those that follow an interrupt? What was raised meanwhile is handled as well. */
static __always_inline bool is_follower(struct cpu_context *context, __u32 vector, __u64 now_ns)
{
    struct seized *s = &context->seized;
    __u32 bit = 1u << (vector & 31);
    bool is_one = s->followers & bit;
    s->followers = (s->followers & ~bit) | pending_vectors(context);
    s->began_ns[0] = s->followers ? now_ns : 0;
    s->hard_before_ns = s->hard_ns;
    return is_one;
}

static __noinline int end_softirq(struct cpu_context *context, __u32 vector)
{
    struct seized *s = &context->seized;
    __u64 now_ns = bpf_ktime_get_ns(), ns = s->began_ns[0] ? now_ns - s->began_ns[0] : 0;
    __u64 hard_ns = s->hard_ns - s->hard_before_ns;
    s->began_ns[0] = 0;
    s->ended_ns = now_ns;
    s->ended_vector = vector;
    bool is_counted = !wp_vectors_offset || is_follower(context, vector, now_ns);
    if (is_counted && ns > hard_ns && vector < SEIZED_HARD - SEIZED_SOFT)
        add_seized(s, SEIZED_SOFT + vector, ns - hard_ns, now_ns);
    return 0;
}

SEC("tp_btf/softirq_exit")
int WORK_PROG(wp_softirq_exit, unsigned int vector)
{
    struct cpu_context *context = cpu_context();
    if (!context)
        return 0;
    begin_window(context);
    context->in_softirq = 0;
    context->seized.is_device = 0;
    if (wp_vectors_offset)
        note_vector(context, vector);
    if (context->seized.began_ns[0] || context->seized.followers)
        end_softirq(context, vector);
    return 0;
}

#endif
