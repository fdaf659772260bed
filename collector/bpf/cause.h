/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_CAUSE_H
#define WP_COLLECTOR_BPF_CAUSE_H
/*
 * What is behind a waking. Three contexts may be stacked on a CPU (a task, a soft interrupt, a hard interrupt); each
 * has a mark that says what is being handled there. Tracepoints set and clear marks; sched_waking reads the innermost
 * one. Of a task's mark nothing tells the end (it works off its socket's backlog or completes block requests itself):
 * that is believed for MARK_NS, and only while the task is in the kernel for the same reason, which never is past a
 * switch.
 */
#include "emit.h"

#define MARK_NS 50000
#define THREAD_SIZE 16384u /* arch/x86/include/asm/page_64_types.h, arch/arm64/include/asm/memory.h */

#define SOFTIRQ_OFFSET 0x100 /* include/linux/preempt.h */
#define SOFTIRQ_MASK 0xff00

const volatile bool wp_counts_contexts =
    false; /* set before loading: there is a __preempt_count, and it says so of soft interrupts */
const volatile __s64 wp_count_offset =
    0; /* set before loading: where it is from the CPU's run queue on; 0: it has an address */
const volatile __s64 wp_packets_offset =
    0; /* set before loading: where the number of packets that came is, from __preempt_count on; 0: it is not known, and
        * a program is called for each */
const volatile __s64
    wp_vectors_offset = 0,
    wp_pending_offset =
        0; /* set before loading: where the kernel counts the soft interrupts of each vector that have begun, and which
            * ones are to come, from __preempt_count on; 0: a program is called as each begins */
const volatile bool wp_times_softirqs = false; /* set before loading: their ends are told */

enum level { LEVEL_TASK, LEVEL_SOFT, LEVEL_HARD, LEVELS };

enum { /* as enum wp_cause of proto/event.h */
    CAUSE_UNKNOWN,
    CAUSE_TASK,
    CAUSE_TIMER,
    CAUSE_MESSAGE,
    CAUSE_BLOCK,
    CAUSE_IRQ,
    CAUSE_SOFTIRQ
};

struct mark {
    __u64 a, d, time_ns;
    __u64 entry; /* of a task's mark: see entry_of */
    __u32 tid;   /* who set it */
    __u8 cause, reserved;
    __u8 timers;   /* functions of timers that are running, a hard one on top of a soft one */
    __u8 is_heard; /* somebody was woken by it */
};

struct packet {
    __u64 key;                     /* of the datagram that is being received */
    __u16 remote_port, local_port; /* host order */
    __u32 reserved;
};

#define VECTORS 10 /* of soft interrupts: include/linux/interrupt.h, NR_SOFTIRQS */
#define VECTOR_PLACES 16
#define SEIZED_PLACES 16
#define SOFTIRQ_PASS_NS 2000 /* less is between two soft interrupts of a pass, which goes up the vectors */

/* What took this CPU from its thread, since that came (seize.h). */
struct seized {
    __u64 began_ns[2];             /* a soft interrupt, an interrupt; 0: none whose time counts */
    __u64 ended_ns;                /* the last soft interrupt whose time counted; 0: none since the last switch */
    __u32 is_any, is_device;       /* is_device: what comes next may be an interrupt's soft one */
    __u32 ended_vector;            /* see ended_ns */
    __u32 followers;               /* a bit for each vector that is handled next, since an interrupt ended */
    __u64 steal_ns;                /* the kernel's count + 1; 0: not read yet */
    __u64 hard_ns, hard_before_ns; /* interrupts ever, and up to when the soft one began */
    __u64 ns[SEIZED_PLACES];
    __u64 name[4]; /* addresses, of the handlers' of `irq` */
    __u32 irq[4];
};

/* The last block request that went to its driver here; see served.h. */
struct issued {
    __u64 request, key, time_ns; /* request: 0 when that has been looked at */
    __u32 device, reserved;
};

/* What most programs look at comes first. */
struct cpu_context {
    __u64 count_at;           /* where this CPU's __preempt_count is; 0: no soft interrupt was seen here yet */
    __u32 in_irq, in_softirq; /* neither kind nests on a CPU */
    __u64 places[2];          /* of number_of */
    __u64 ready[LEVELS];      /* the socket of the mark, when that is a message */
    __u32 message_packet;     /* the number of the packet by which a soft interrupt has the mark of a message */
    __u32 elsewhere;          /* another host's thread has had the CPU since its last switch that was told */
    __u32 window, reserved;   /* of what is said here: see begin_window */
    struct mark marks[LEVELS];
    __u32 ended[VECTOR_PLACES]; /* of each vector, how many soft interrupts had begun as the last one ended */
    struct seized seized;
    struct packet packets[LEVELS];
    __u32 running_tid, unused;          /* the task that this CPU was last seen going to ... */
    __u64 switched_ns, clock_offset_ns; /* ... and when; our clock - the scheduler's */
    struct issued issued;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct cpu_context);
} contexts SEC(".maps");

static __always_inline struct cpu_context *cpu_context(void)
{
    __u32 zero = 0;
    return bpf_map_lookup_elem(&contexts, &zero);
}

/*
 * Is a soft interrupt being handled here? Where the kernel's own count can be read nothing needs to be called at its
 * end: what is left of its mark is not looked at any more, and the next one's beginning clears it.
 */
static __always_inline bool is_in_softirq(const struct cpu_context *context)
{
    if (!wp_counts_contexts)
        return context->in_softirq;
    return context->count_at && word_at(context->count_at) & SOFTIRQ_OFFSET;
}

static __always_inline __u32 level_now(const struct cpu_context *context)
{
    return unlikely(context->in_irq) ? LEVEL_HARD : is_in_softirq(context) ? LEVEL_SOFT : LEVEL_TASK;
}

/* In a soft interrupt: how many packets have begun to be received on this CPU (struct softnet_data, processed). */
static __always_inline __u32 packet_number(const struct cpu_context *context)
{
    return (__u32)word_at(context->count_at + wp_packets_offset);
}

/* Is the mark of a message that of a packet before the one that is being received? Where packets are counted no program
 * is called as the next one comes. */
static __always_inline bool is_packet_over(const struct cpu_context *context, __u32 level)
{
    return wp_packets_offset && level == LEVEL_SOFT && context->marks[level].cause == CAUSE_MESSAGE &&
        context->message_packet != packet_number(context);
}

/*
 * Is this the stack of the current task? Interrupts that have no tracepoint (of the local timer, between processors)
 * run on a stack of their own, and what they wake is not the task's doing. The arguments of a program lie on the stack.
 */
static __always_inline bool is_on_task_stack(void *ctx, struct cpu_context *context, struct task_struct *task)
{
    __u64 *places = context->places;
    return number_of(&places[0], ctx) - number_of(&places[1], task->stack) < THREAD_SIZE;
}

/* Where the task left user mode, and by which call on what. */
static __always_inline __u64 entry_of(struct task_struct *task)
{
    struct pt_regs *regs = task->flags & PF_KTHREAD ? 0 : (struct pt_regs *)bpf_task_pt_regs(task);
    return regs ? REGS_IP(regs) ^ (__u64)REGS_CALL(regs) << 48 ^ (__u64)REGS_FIRST(regs) << 20 : 0;
}

/* Of the levels above a task's the end is seen: who and when does not matter. */
static __always_inline void set_mark(struct cpu_context *context, __u32 level, __u8 cause, __u64 a, __u64 d)
{
    struct mark *m = &context->marks[level];
    m->a = a;
    m->d = d;
    m->cause = cause;
    if (unlikely(level == LEVEL_TASK)) {
        struct task_struct *task = current_task();
        m->time_ns = bpf_ktime_get_ns();
        m->tid = task->pid;
        m->entry = entry_of(task);
    }
}

static __always_inline void clear_mark(struct cpu_context *context, __u32 level)
{
    __builtin_memset(&context->marks[level], 0, sizeof(struct mark));
}

/* How many soft interrupts of the vector have begun on this CPU (struct kernel_stat, softirqs). */
static __always_inline __u32 vector_count(const struct cpu_context *context, __u32 vector)
{
    return (__u32)word_at(context->count_at + wp_vectors_offset + 4 * vector);
}

/*
 * Between windows most programs are not called (collector/live/program_links.h): what is said of this CPU may be over.
 * Functions of timers are counted all the same, and interrupts have their beginnings.
 */
static __noinline int forget_context(struct cpu_context *context)
{
    struct seized *s = &context->seized;
#pragma unroll
    for (__u32 level = LEVEL_TASK; level < LEVEL_HARD; level++) {
        context->marks[level].cause = CAUSE_UNKNOWN;
        context->packets[level].key = 0;
    }
    __builtin_memset(s->ns, 0, sizeof(s->ns));
    s->began_ns[0] = s->ended_ns = s->steal_ns = 0;
    s->is_any = s->is_device = s->followers = 0;
    if (wp_vectors_offset && context->count_at) {
#pragma unroll
        for (__u32 i = 0; i < VECTORS; i++)
            context->ended[i] = vector_count(context, i);
    }
    return 0;
}

/* In all programs that set marks or read them, and stay away between windows. */
static __always_inline void begin_window(struct cpu_context *context)
{
    __u32 window = wp_window_number;
    if (likely(context->window == window))
        return;
    context->window = window;
    forget_context(context);
}

/* Of the soft interrupt that is being handled, where none has a program at its beginning: it is the one that has begun
 * since the last one ended. VECTORS: not known. */
static __noinline __u32 vector_now(const struct cpu_context *context)
{
    __u32 found = VECTORS;
    if (!context)
        return VECTORS;
#pragma unroll
    for (__u32 i = 0; i < VECTORS; i++)
        if (vector_count(context, i) != context->ended[i])
            found = i;
    return found;
}

/* What was said of a packet is over as the next one comes. */
static __always_inline void end_message(struct cpu_context *context, __u32 level)
{
    set_mark(context, level, level == LEVEL_SOFT ? CAUSE_SOFTIRQ : CAUSE_UNKNOWN, 0, 3); /* NET_RX_SOFTIRQ */
}

/* Of a soft interrupt: its mark is of what it does now. */
static __always_inline void renew_mark(struct cpu_context *context)
{
    if (unlikely(is_packet_over(context, LEVEL_SOFT)))
        end_message(context, LEVEL_SOFT);
    const struct mark *m = &context->marks[LEVEL_SOFT];
    if (likely(!wp_vectors_offset || m->cause || m->timers))
        return;
    __u32 vector = vector_now(context);
    if (vector < VECTORS)
        set_mark(context, LEVEL_SOFT, CAUSE_SOFTIRQ, 0, vector);
}

static __always_inline void fill_cause(
    void *ctx, struct wp_record *r, struct cpu_context *context, struct task_struct *waker)
{
    __u32 level = level_now(context);
    if (level == LEVEL_SOFT)
        renew_mark(context);
    struct mark *m = &context->marks[level];
    bool is_fresh = level != LEVEL_TASK ||
        (m->cause && m->tid == (__u32)waker->pid && r->time_ns - m->time_ns < MARK_NS && m->entry == entry_of(waker));
    r->flags = level == LEVEL_HARD ? 1 : level == LEVEL_SOFT ? 2 : 0; /* WP_CONTEXT_* */
    r->c = level == LEVEL_TASK ? CAUSE_TASK : CAUSE_UNKNOWN;
    if (m->timers) {
        r->c = CAUSE_TIMER;
        r->flags |= level == LEVEL_TASK; /* in the interrupt of the local timer */
    } else if (m->cause && is_fresh && (m->cause != CAUSE_TASK || is_on_task_stack(ctx, context, waker))) {
        m->is_heard = 1;
        r->c = m->cause;
        r->a = m->a;
        r->d = m->d;
    } else if (level == LEVEL_TASK && !is_on_task_stack(ctx, context, waker)) {
        r->c = CAUSE_UNKNOWN;
        r->flags = 1;
    }
}

SEC("tp_btf/irq_handler_entry")
int WORK_PROG(wp_irq_entry, int irq)
{
    struct cpu_context *context = cpu_context();
    if (!context)
        return 0;
    context->in_irq = 1;
    context->seized.is_device = 1;
    context->seized.began_ns[1] = wp_walk_one_in == 1 ? bpf_ktime_get_ns() : 0;
    clear_mark(context, LEVEL_HARD);
    set_mark(context, LEVEL_HARD, CAUSE_IRQ, 0, irq);
    return 0;
}

/* It is not the running thread that has begun it: an interrupt came before, or hit the idle CPU or user mode, where the
 * number of the call is none. */
static __always_inline bool is_foreign_softirq(const struct cpu_context *context)
{
    struct task_struct *task = current_task();
    if (context->seized.is_device || !task->pid)
        return true;
#if defined(__TARGET_ARCH_x86)
    struct pt_regs *regs = task->flags & PF_KTHREAD ? 0 : (struct pt_regs *)bpf_task_pt_regs(task);
    return regs && (long)regs->orig_ax < 0;
#else
    return false;
#endif
}

/* The clock is read only for what may count: of what a thread begins itself, which is every packet that it sends over
 * the loopback device, only what follows another one in the same pass. */
static __always_inline void time_softirq(struct cpu_context *context, unsigned int vector)
{
    struct seized *s = &context->seized;
    s->began_ns[0] = 0;
    if (!wp_times_softirqs || wp_walk_one_in != 1)
        return;
    bool is_foreign = is_foreign_softirq(context);
    if (likely(!is_foreign && (!s->ended_ns || vector <= s->ended_vector)))
        return;
    __u64 now_ns = bpf_ktime_get_ns();
    if (!is_foreign && now_ns - s->ended_ns >= SOFTIRQ_PASS_NS)
        return;
    s->hard_before_ns = s->hard_ns;
    s->began_ns[0] = now_ns;
}

static __always_inline void enter_softirq(struct cpu_context *context, unsigned int vector)
{
    context->packets[LEVEL_SOFT].key = 0;
    clear_mark(context, LEVEL_SOFT);
    set_mark(context, LEVEL_SOFT, CAUSE_SOFTIRQ, 0, vector);
    time_softirq(context, vector);
}

/* Which of the two is loaded, if any: collector/live/probe.c. */
SEC("tp_btf/softirq_entry")
int WORK_PROG(wp_softirq_entry, unsigned int vector)
{
    struct cpu_context *context = cpu_context();
    if (!context)
        return 0;
    number_of(&context->count_at, bpf_this_cpu_ptr((const void *)WP_MARK_COUNT)); /* x86, but for Linux 6.2 to 6.14 */
    enter_softirq(context, vector);
    return 0;
}

/* Where the count is of a CPU that handles a soft interrupt, which it says; 0: it is not there. Every task leads to the
 * run queue of the CPU that it runs on. */
static __always_inline __u64 count_by_queue(void)
{
    struct task_struct___queue *task = (struct task_struct___queue *)current_task();
    if (!wp_count_offset || !bpf_core_field_exists(((struct sched_entity___queue *)0)->cfs_rq) ||
        !bpf_core_field_exists(((struct cfs_rq___queue *)0)->rq))
        return 0;
    __u64 at = (__u64)(unsigned long)BPF_CORE_READ(task, se.cfs_rq, rq) + wp_count_offset;
    return (word_at(at) & SOFTIRQ_MASK) == SOFTIRQ_OFFSET ? at : 0;
}

SEC("raw_tp/softirq_entry")
int WORK_PROG(wp_softirq_entry_flag, unsigned int vector)
{
    struct cpu_context *context = cpu_context();
    if (!context)
        return 0;
    context->in_softirq = 1;
    if (unlikely(!context->count_at))
        context->count_at = count_by_queue();
    enter_softirq(context, vector);
    return 0;
}

/* A bit for each vector that was raised and is not being handled. */
static __always_inline __u32 pending_vectors(const struct cpu_context *context)
{
    return (__u32)word_at(context->count_at + wp_pending_offset) & ((1u << VECTORS) - 1);
}

/* An interrupt ends: the soft interrupts that were raised by then come next. What it hit may keep them off for a short
 * time: a device's count all the same. Where one is being handled they begin as that ends. */
static __always_inline void expect_softirqs(struct cpu_context *context, bool is_device)
{
    struct seized *s = &context->seized;
    if (!wp_vectors_offset || wp_walk_one_in != 1 || !context->count_at)
        return;
    __u64 count = word_at(context->count_at);
    if (count & SOFTIRQ_OFFSET)
        s->followers |= is_device ? pending_vectors(context) : 0;
    if (count & SOFTIRQ_OFFSET || (count & SOFTIRQ_MASK && !is_device))
        return;
    s->followers = pending_vectors(context);
    s->began_ns[0] = s->followers ? bpf_ktime_get_ns() : 0;
    s->hard_before_ns = s->hard_ns;
}

/* A soft interrupt ends whose beginning no program has seen. */
static __always_inline void note_vector(struct cpu_context *context, __u32 vector)
{
    if (!wp_packets_offset)
        context->packets[LEVEL_SOFT].key = 0;
    clear_mark(context, LEVEL_SOFT);
    if (likely(context->count_at)) {
        barrier_var(vector);
        vector &= VECTOR_PLACES - 1;
        context->ended[vector] = vector_count(context, vector);
        return;
    }
    context->count_at = count_by_queue();
    if (!context->count_at)
        return;
#pragma unroll
    for (__u32 i = 0; i < VECTORS; i++)
        context->ended[i] = vector_count(context, i);
}

static __always_inline int count_timer(int change)
{
    struct cpu_context *context = cpu_context();
    if (!context)
        return 0;
    struct mark *m = &context->marks[level_now(context)];
    if (change > 0 || m->timers)
        m->timers += change;
    return 0;
}

/* The local timer's interrupt has no tracepoint of every machine: the last timer that it serves is its end. */
static __always_inline int end_precise_timer(void)
{
    struct cpu_context *context = cpu_context();
    if (context)
        expect_softirqs(context, false);
    return count_timer(-1);
}

SEC("tp_btf/hrtimer_expire_entry")
int WORK_PROG(wp_hrtimer_entry)
{
    return count_timer(1);
}

SEC("tp_btf/hrtimer_expire_exit")
int WORK_PROG(wp_hrtimer_exit)
{
    return end_precise_timer();
}

SEC("tp_btf/timer_expire_entry")
int WORK_PROG(wp_timer_entry)
{
    return count_timer(1);
}

SEC("tp_btf/timer_expire_exit")
int WORK_PROG(wp_timer_exit)
{
    return count_timer(-1);
}

#endif
