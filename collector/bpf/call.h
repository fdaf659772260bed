/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_CALL_H
#define WP_COLLECTOR_BPF_CALL_H
/* What the scheduler and the kernel's entry know of a task that leaves the CPU: its system call, when that times out,
 * how long it ran. */
#include "cause.h"

struct call {
    __u32 number;       /* + 1; 0: none */
    bool is_deliberate; /* only sleeps */
    bool is_yield;
};

/* As they were when the task last left user mode, by a call or an interrupt; NULL for kernel threads. */
static __always_inline struct pt_regs *user_regs(struct task_struct *task)
{
    return task->flags & PF_KTHREAD ? 0 : (struct pt_regs *)bpf_task_pt_regs(task);
}

/* Pointers that the kernel hands out with their type are read without a helper: these programs run at every switch. */
static __always_inline struct call call_of(struct task_struct *task, struct pt_regs *regs)
{
    struct call call = {};
    if (!regs)
        return call;
#if defined(__TARGET_ARCH_x86)
    long number = (long)regs->orig_ax;
    if (number < 0 || number > 2000 || task->thread_info.status & 2) /* TS_COMPAT: other numbers */
        return call;
    call.number = (__u32)number + 1;
    if (number == 35 || number == 230) /* nanosleep, clock_nanosleep */
        call.is_deliberate = true;
    if (number == 23 || number == 270) /* select, pselect6 without files */
        call.is_deliberate = !regs->di;
    if (number == 7 || number == 271) /* poll, ppoll without files */
        call.is_deliberate = !regs->si;
    call.is_yield = number == 24;
#elif defined(__TARGET_ARCH_arm64)
    int number = regs->syscallno;
    if (number < 0 || number > 2000)
        return call;
    call.number = number + 1;
    call.is_deliberate = number == 101 || number == 115; /* nanosleep, clock_nanosleep */
    if (number == 72)                                    /* pselect6 without files */
        call.is_deliberate = !regs->orig_x0;
    if (number == 73) /* ppoll without files */
        call.is_deliberate = !regs->regs[1];
    call.is_yield = number == 124;
#endif
    return call;
}

#if defined(__TARGET_ARCH_x86)
/* A struct timespec, or a timeval, of the current task in nanoseconds; 0: none, or it cannot be read now. */
static __always_inline __u64 user_time(unsigned long address, __u64 unit_ns)
{
    __s64 time[2];
    if (!address || bpf_probe_read_user(time, sizeof(time), (void *)address) || time[0] < 0 || time[0] > 1000000000 ||
        time[1] < 0)
        return 0;
    return (__u64)time[0] * 1000000000 + (__u64)time[1] * unit_ns;
}

/* The same of a moment of CLOCK_MONOTONIC: from now. */
static __always_inline __u64 user_moment(unsigned long address)
{
    __u64 at_ns = user_time(address, 1), now_ns = bpf_ktime_get_ns();
    return at_ns > now_ns ? at_ns - now_ns : 0;
}
#endif

/*
 * Nanoseconds from now after which the call (number + 1) of the current task, which leaves the CPU, ends by itself; 0:
 * it does not, or that is not known. `regs` are the task's. A relative time counts from the call's beginning, which was
 * a little before.
 */
static __always_inline __u64 timeout_of(struct pt_regs *regs, __u32 number)
{
#if defined(__TARGET_ARCH_x86)
    int ms = -1;
    if (!regs || !number)
        return 0;
    switch (number - 1) {
    case 7: /* poll */
        ms = (int)regs->dx;
        break;
    case 232:
    case 281: /* epoll_wait, epoll_pwait */
        ms = (int)regs->r10;
        break;
    case 23: /* select */
        return user_time(regs->r8, 1000);
    case 35: /* nanosleep */
        return user_time(regs->di, 1);
    case 230: /* clock_nanosleep; moments of other clocks are not known */
        if (!(regs->si & 1))
            return user_time(regs->dx, 1);
        return regs->di == 1 ? user_moment(regs->dx) : 0;
    case 270: /* pselect6 */
        return user_time(regs->r8, 1);
    case 128:
    case 271: /* rt_sigtimedwait, ppoll */
        return user_time(regs->dx, 1);
    case 220:
    case 441: /* semtimedop, epoll_pwait2 */
        return user_time(regs->r10, 1);
    case 202: /* futex: FUTEX_WAIT is relative, FUTEX_WAIT_BITSET a moment, with bit 256 of the real time */
        if ((regs->si & 0x7f) == 0)
            return user_time(regs->r10, 1);
        return (regs->si & 0x17f) == 9 ? user_moment(regs->r10) : 0;
    }
    return ms > 0 ? (__u64)ms * 1000000 : 0;
#else
    return 0;
#endif
}

/*
 * A CPU goes from prev to next: 0 if it was last seen going to prev. Else what it did meanwhile was not told to us, and
 * this is for how long prev has been here, 0: not known. The kernel's sched_info.last_arrival is of the scheduler's
 * clock, which is compared with ours at each prev that was seen to come.
 */
static __always_inline __u64 ran_unseen_ns(
    struct cpu_context *context, struct task_struct *prev, struct task_struct *next, __u64 now_ns)
{
    __u64 came_ns = context->switched_ns, ran = 0;
    __u64 arrived =
        prev->pid && bpf_core_field_exists(prev->sched_info.last_arrival) ? prev->sched_info.last_arrival : 0;
    if (context->running_tid == (__u32)prev->pid) {
        if (arrived && came_ns)
            context->clock_offset_ns = came_ns - arrived;
    } else if (arrived && context->clock_offset_ns) {
        __u64 in_ns = arrived + context->clock_offset_ns;
        ran = now_ns > in_ns && in_ns >= came_ns ? now_ns - in_ns : 0;
    }
    context->running_tid = next->pid;
    context->switched_ns = now_ns;
    return ran;
}

#endif
