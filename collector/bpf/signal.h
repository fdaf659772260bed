/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_SIGNAL_H
#define WP_COLLECTOR_BPF_SIGNAL_H
/*
 * Which signal a waking brings: kernel/signal.c marks it pending before it wakes the sleeper, and of one that ends the
 * process it notes the number for all threads. A sleep that waits for something else and still finds one pending would
 * not have begun, so a pending signal at the waking is its cause.
 */
#include "cause.h"

#define TASK_INTERRUPTIBLE 1 /* include/linux/sched.h */
#define TASK_WAKEKILL 0x100
#define SIGNAL_GROUP_EXIT 4 /* include/linux/sched/signal.h */
#define SIGKILL 9

/* The number of the lowest bit that is set: how many are below it, + 1. Without a branch, each of which the verifier
 * would follow to the end of the program. */
static __always_inline __u32 lowest_signal(__u64 set)
{
    __u64 below = (set & (0 - set)) - 1;
    below -= below >> 1 & 0x5555555555555555ull;
    below = (below & 0x3333333333333333ull) + (below >> 2 & 0x3333333333333333ull);
    below = (below + (below >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (__u32)(below * 0x0101010101010101ull >> 56) + 1;
}

/* 0: none. */
static __always_inline __u32 signal_of(struct task_struct *woken)
{
    if (!(woken->__state & (TASK_INTERRUPTIBLE | TASK_WAKEKILL)) || woken->flags & PF_KTHREAD)
        return 0;
    struct signal_struct *group = LOOSE(task_struct, woken)->signal;
    if (!group)
        return 0;
    __u64 set = (woken->pending.signal.sig[0] | group->shared_pending.signal.sig[0]) & ~woken->blocked.sig[0];
    if (!set || (!(woken->__state & TASK_INTERRUPTIBLE) && !(set & 1ull << (SIGKILL - 1))))
        return 0;
    if (!(group->flags & SIGNAL_GROUP_EXIT))
        return lowest_signal(set);
    __u32 number = group->group_exit_code & 0x7f;
    return number ? number : SIGKILL;
}

/* Of a process' signals each thread finds those that are meant for another one, too: kernel/signal.c,
 * complete_signal, wakes the first thread when it wants the signal, and else notes whom. */
static __always_inline bool is_target(struct task_struct *woken)
{
    struct signal_struct *group = LOOSE(task_struct, woken)->signal;
    return (woken->pending.signal.sig[0] & ~woken->blocked.sig[0]) || woken->pid == woken->tgid ||
        (group && address_of(&group->curr_target) == (__u64)woken);
}

/* A task's signal; a timer's (alarm(2), setitimer(2), timer_create(2)) is nobody's, whomever the interrupt met. Other
 * interrupts have causes of their own. */
static __always_inline void fill_signal(struct wp_record *waking, struct task_struct *woken)
{
    if (waking->c != CAUSE_TASK && waking->c != CAUSE_TIMER)
        return;
    __u32 number = waking->c == CAUSE_TASK || is_target(woken) ? signal_of(woken) : 0;
    if (number && waking->c == CAUSE_TIMER) {
        waking->c = CAUSE_TASK;
        waking->tid = waking->pid = 0;
    }
    if (waking->c == CAUSE_TASK)
        waking->a = number;
}

#endif
