/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_CAUSE_H
#define WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_CAUSE_H
/*
 * What stacks say. The text of perf has no cause of a waking, so it is judged from the waking's own kernel stack, from
 * the innermost frame outwards; the first frame that means something decides:
 * - timer functions: TIMER
 * - block requests that end: BLOCK
 * - the receiving end of the network: the task, when it runs at the end of the task's own transmission (loopback); else
 *   SOFTIRQ of vector 3. Lines about sockets may make a message of either (perf_script_packets.h).
 * - other soft interrupts: SOFTIRQ
 * - handlers of devices: IRQ
 * - calls between processors: UNKNOWN, the waker is on another processor
 * - nothing of these: TASK
 *
 * What stands outside an interrupt's entry belongs to the interrupted and is not looked at. Names are those of
 * Linux 3.13 to 6.18 on x86-64 and arm64.
 */
#include "collector/host/source.h"

/* What the marks of irq_handler_* and softirq_* say about this CPU; they speak when the stack does not. */
struct wp_perf_marks {
    bool in_irq, in_softirq;
    uint32_t irq, vector;
};

struct wp_perf_cause {
    enum wp_cause cause;
    uint8_t context; /* WP_CONTEXT_* */
    uint32_t number; /* IRQ: irq; SOFTIRQ: vector */
};

/* Frames outermost first. tid is the thread that was interrupted or acts: the idle task (0) never does. */
struct wp_perf_cause wp_perf_cause_of(
    const struct wp_named_frame *frames, uint32_t count, const struct wp_perf_marks *marks, uint32_t tid);

/* A packet's way to a socket, as the stack of a waking or of a packet's arrival has it. */
struct wp_perf_received {
    uint8_t protocol; /* IPPROTO_TCP or IPPROTO_UDP; 0: the stack does not say */
    bool is_own;      /* at the end of the thread's own transmission: over loopback */
    bool is_backlog;  /* through the queue that packets over loopback take as well */
    bool is_room;     /* the woken waits for room to send */
};

/* False: no packet is received there, and *received is undefined. */
bool wp_perf_cause_received(const struct wp_named_frame *frames, uint32_t count, const struct wp_perf_marks *marks,
    struct wp_perf_received *received);

/* The system call that the thread is in, x86-64's number + 1; 0: in none, or not known. */
uint32_t wp_perf_stack_syscall(const struct wp_named_frame *frames, uint32_t count);
/* WP_FORK_*, judged by the C library's functions and the system call: the tracepoint says neither. */
uint8_t wp_perf_stack_fork(const struct wp_named_frame *frames, uint32_t count);

#endif
