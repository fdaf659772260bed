/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_EVENT_H
#define WP_PROTO_EVENT_H
/*
 * An event is one fact from a host, as every part behind the collector sees it: a fixed-size row with dense ids of the
 * session's dictionary (see proto/dictionary.h). Times are nanoseconds of the host's own CLOCK_MONOTONIC.
 * Ids of threads, strings, stacks, sockets, objects, frames start at 1; 0 means none (for a thread: the idle task).
 * Which fields a kind uses, and for what, is said at the kind; the others are 0 and do not travel.
 */
#include <stdbool.h>
#include <stdint.h>

enum wp_event_kind {
    /* A CPU goes from one thread to another. cpu; thread = prev; other = next; stack = where prev stopped;
     * c = enum wp_task_state of prev; d = syscall number of prev + 1, 0: in none; wait = string id of what
     * that call waits for ("pipe", "tcp 10.0.0.7:5432", "queue_lock (server)"), 0 not known; flags: WP_SWITCH_*; with
     * WP_SWITCH_TIMED: a = ns after which its call would time out; with WP_SWITCH_HELD: a = number (tid) of the thread
     * that holds the lock, if prev's process has such a thread, or with WP_SWITCH_HELD_ANYWHERE any; with
     * WP_SWITCH_RAN: b = ns that prev was on the CPU without a break, as the scheduler says (these four travel in
     * columns of their own). Where a host is a network namespace, threads of others are idle time. */
    WP_EVENT_SWITCH = 1,
    /* sched_waking, fired in the waker's context. cpu; thread = the thread current on that CPU (in an interrupt: the
     * interrupted one); other = the woken; c = enum wp_cause; flags: WP_CONTEXT_*; by cause:
     * TASK: a = number of the signal that the waking brings, 0: none, or not known; d = number of the connection that
     * it was written to, 0: none that is known (WP_EVENT_LOCAL);
     * MESSAGE: d = socket id of the receiver, a = stream position behind the last byte (or datagram key);
     * BLOCK: d = device number, a = request key; IRQ: d = irq number; SOFTIRQ: d = vector;
     * TIMER: stack = where the woken slept, of the coroutine whose timer it was, in place of the one that the switch
     * told; 0: that one (it travels in a column of its own).
     * wait = string id of what was ready when the woken slept in epoll_wait, as for SWITCH. */
    WP_EVENT_WAKING = 2,
    /* A new thread exists (still asleep or runnable). thread = parent, other = child; flags: WP_FORK_*. */
    WP_EVENT_FORK = 3,
    /* thread = identity before, other = identity after (same tid unless another thread of the group called exec). */
    WP_EVENT_EXEC = 4,
    /* thread; flags: how it ended: 0 not known, 1 to 64 by that signal, WP_EXIT_OOM, WP_EXIT_STATUS and its exit
     * status, WP_EXIT_MOST where that is greater. */
    WP_EVENT_EXIT = 5,
    WP_EVENT_RENAME = 6, /* thread; c = string id of the new comm; flags: WP_RENAME_* */
    /* What existed at the start. thread; cpu where it runs (state RUNNING and flags WP_STATE_ON_CPU); c = enum
     * wp_task_state; a = in that state since (ns, 0: unknown); d = syscall number + 1; stack. */
    WP_EVENT_STATE = 7,
    /* Block requests. thread = current (INSERT: the issuer); d = device number (major << 20 | minor); b = request key,
     * unique on the device while in flight; a = first sector; c = bytes; flags: WP_BLOCK_*; other = string id of the
     * file that it is for, 0 unknown (it travels in a column of its own). An ISSUE with WP_BLOCK_SERVED comes later:
     * the thread has served the request itself, as loop devices' workers do. */
    WP_EVENT_BLOCK_INSERT = 8,
    WP_EVENT_BLOCK_ISSUE = 9,
    WP_EVENT_BLOCK_COMPLETE = 10,
    /* Bytes handed to a socket. thread = sender; d = socket id; a = stream position behind the last byte (TCP: 32-bit
     * sequence number), or the datagram key; c = bytes; flags: WP_SOCK_DATAGRAM, WP_SOCK_AHEAD. */
    WP_EVENT_SOCK_SEND = 11,
    /* Bytes arrived for a socket (before any reader is woken). thread = current; d, a, c, flags as for SEND. */
    WP_EVENT_SOCK_ARRIVE = 12,
    /* Bytes copied to the application. thread = reader; d = socket id; a = position behind the last byte read; c =
       bytes. */
    WP_EVENT_SOCK_RECV = 13,
    /* TCP state change. thread = current; d = socket id; c = new state (TCP_ESTABLISHED = 1 ...); b = old state;
     * a = initial sequence numbers: sent | received << 32, 0 when unknown. */
    WP_EVENT_SOCK_STATE = 14,
    WP_EVENT_SOCK_RETRANSMIT = 15, /* d = socket id; a = position behind the last byte; c = bytes */
    WP_EVENT_SAMPLE = 16,          /* thread; cpu; stack */
    /* For the first time bytes up to there go to the network device (not of loopback); reported for one in 10 ms a
     * socket. d = socket id; a = stream position behind the last byte. */
    WP_EVENT_SOCK_LEAVE = 17,
    /* The recording goes on here (c = 1) or pauses (c = 0). Between a pause and the next beginning only births,
     * programs, names and deaths of threads are told; STATE says of each thread that is there how it stands at the
     * beginning. */
    WP_EVENT_WINDOW = 18,
    /* A stream socket of the unix family. thread; d = number of the connection, the same at both ends and in WAKING by
     * a TASK; c = 1: the thread read there, and had read on another one before; c = 0: a ns ago it wrote there, which
     * woke nobody, and now it sleeps with a timeout or reads on another one. */
    WP_EVENT_LOCAL = 19,
    /* Why a thread was off its CPU, told as that is over, before the switch to it. thread; c = enum wp_reason; a = ns
     * since it left its CPU for which that was so. Of a quota wait = string id of the cgroup, 0 not known; b = ns of
     * its period, 0 not known. Of a queue's quota (c also holds the period, in us, << 8) a = ns in which it kept the
     * thread from its CPU; b = ns since those ended; wait = as of a quota. Of what takes a CPU from whatever runs on it
     * (WP_REASON_INTERRUPT to _STEAL): b = the CPU; a = ns, which end with the event; wait = string id of the
     * interrupt, 0 not known; thread is 0. Of memory, at any time: wait = string id of the cgroup that is short of it,
     * WP_MEMORY_GROUP and its path, of which the thread's process is; a = bytes that the process has. The path of the
     * whole machine is empty. Of a victim (WP_REASON_OOM) the same, of the cgroup whose memory had run out; a: 0 not
     * known. Behind the STATE of a thread that sleeps (WP_REASON_SLEEP): wait = string id of what its call waits for,
     * as for SWITCH. */
    WP_EVENT_REASON = 20,
    WP_EVENT_KINDS
};

/* What stands behind a waking; decided in the kernel at that moment (10-events-and-wire). */
enum wp_cause {
    WP_CAUSE_UNKNOWN = 0,
    WP_CAUSE_TASK, /* the current thread itself */
    WP_CAUSE_TIMER,
    WP_CAUSE_MESSAGE,
    WP_CAUSE_BLOCK,
    WP_CAUSE_IRQ,     /* a device interrupt with nothing traced behind it */
    WP_CAUSE_SOFTIRQ, /* a soft interrupt with nothing traced behind it */
    WP_CAUSES
};

/* What REASON tells; others are ignored. */
enum wp_reason {
    WP_REASON_QUOTA = 1, /* its cgroup had used up its quota of the CPU */
    WP_REASON_INTERRUPT, /* a device's */
    WP_REASON_SOFT_INTERRUPT,
    WP_REASON_STEAL, /* the hypervisor's */
    WP_REASON_MEMORY,
    WP_REASON_OOM,         /* the thread's process is killed, as there was no memory */
    WP_REASON_QUEUE_QUOTA, /* the quota was that of the queue that the thread stood in, which had not left its CPU by it
                            */
    WP_REASON_SLEEP        /* what a sleep is for that began before the recording */
};

#define WP_MEMORY_GROUP "cgroup " /* a sleep for such a thing is for memory of the cgroup whose path follows */

/* The state a thread left the CPU in. */
enum wp_task_state {
    WP_STATE_RUNNING = 0,     /* preempted or yielded: still runnable */
    WP_STATE_INTERRUPTIBLE,   /* S */
    WP_STATE_UNINTERRUPTIBLE, /* D */
    WP_STATE_STOPPED,         /* T */
    WP_STATE_TRACED,          /* t */
    WP_STATE_DEAD,            /* X, Z: its last switch */
    WP_STATE_IDLE,            /* I: a kernel thread that waits for work */
    WP_STATE_PARKED,          /* P */
    WP_STATES
};

#define WP_SWITCH_PREEMPTED 1u /* SWITCH: taken off the CPU by preemption */
#define WP_SWITCH_DELIBERATE                                                                                           \
    2u                     /* SWITCH: a call whose only purpose is to sleep (nanosleep, poll without files ...)        \
                            */
#define WP_SWITCH_TIMED 4u /* SWITCH: it sleeps in a call that times out, and `a` is known */
#define WP_SWITCH_RAN 8u   /* SWITCH: the CPU was last seen going to another thread than prev; `b` is known */
#define WP_SWITCH_HELD 16u /* SWITCH: it sleeps for a lock, and `a` may be who holds it; not with WP_SWITCH_TIMED */
#define WP_SWITCH_THROTTLED 32u     /* SWITCH: prev is runnable, and its cgroup has used up its quota of the CPU */
#define WP_SWITCH_HELD_ANYWHERE 64u /* SWITCH, with WP_SWITCH_HELD: a lock of the kernel, maybe of another process */
#define WP_SWITCH_ELSEWHERE 128u /* SWITCH of the idle task: other hosts' threads had the CPU since its last switch */
#define WP_CONTEXT_HARDIRQ 1u    /* WAKING: in a hard interrupt */
#define WP_CONTEXT_SOFTIRQ 2u    /* WAKING: in a soft interrupt (also of ksoftirqd or inline after a send) */
#define WP_CONTEXT_NMI 4u
#define WP_FORK_THREAD 1u /* FORK: CLONE_THREAD */
#define WP_FORK_VFORK 2u  /* FORK: the parent waits for exec or exit */
#define WP_RENAME_OWN 1u  /* RENAME: the thread took the name itself, so it is running */
#define WP_EXIT_STATUS 65u
#define WP_EXIT_OOM 254u /* the kernel, or a cgroup, was out of memory and killed it */
#define WP_EXIT_MOST 255u
#define WP_STATE_ON_CPU 1u /* STATE: is running on `cpu` */
#define WP_BLOCK_WRITE 1u
#define WP_BLOCK_FLUSH 2u
#define WP_BLOCK_READAHEAD 4u
#define WP_BLOCK_SYNC 8u
#define WP_BLOCK_DISCARD 16u
#define WP_BLOCK_ERROR 32u  /* COMPLETE: failed */
#define WP_BLOCK_SERVED 64u /* ISSUE: the driver is done with it, by that thread's work and no interrupt's */
/* STATE, SOCK_STATE: said to a session that continues another one of what that one knew; it is not counted as an event.
 */
#define WP_EVENT_RETOLD 128u
#define WP_SOCK_DATAGRAM 1u
#define WP_SOCK_SYN 2u /* SEND/ARRIVE: the connection request or its answer, counted as one byte at the ISN */
#define WP_SOCK_FIN 4u
#define WP_SOCK_AHEAD 8u /* SEND of TCP: told before any of its bytes go to the network */
/* WAKING by a message, in `a` beside the stream position: it brought nothing to read, only word that the peer had taken
 * something. */
#define WP_POSITION_ACKNOWLEDGES ((uint64_t)1 << 32)

/* One event; its kind says which fields are used, the others are 0. */
struct wp_event {
    uint64_t time_ns;
    uint8_t kind; /* enum wp_event_kind */
    uint8_t flags;
    uint16_t cpu;
    uint32_t thread;
    uint32_t other;
    uint32_t stack;
    uint64_t a, b;
    uint32_t c, d;
    uint32_t wait, reserved;
};

_Static_assert(sizeof(struct wp_event) == 56, "an event is 56 bytes");

/* True when d is a socket. */
static inline bool wp_event_has_socket(const struct wp_event *event)
{
    return (event->kind >= WP_EVENT_SOCK_SEND && event->kind <= WP_EVENT_SOCK_RETRANSMIT) ||
        event->kind == WP_EVENT_SOCK_LEAVE || (event->kind == WP_EVENT_WAKING && event->c == WP_CAUSE_MESSAGE);
}

/* True when it repeats what the session before knew: it is not counted. */
static inline bool wp_event_is_retold(const struct wp_event *event)
{
    return (event->kind == WP_EVENT_STATE || event->kind == WP_EVENT_SOCK_STATE) && event->flags & WP_EVENT_RETOLD;
}

/* True for INSERT, ISSUE and COMPLETE: b is a request key, d a device. */
static inline bool wp_event_is_block(const struct wp_event *event)
{
    return event->kind >= WP_EVENT_BLOCK_INSERT && event->kind <= WP_EVENT_BLOCK_COMPLETE;
}

/* True when it may say what is waited for. */
static inline bool wp_event_has_wait(const struct wp_event *event)
{
    return event->kind == WP_EVENT_SWITCH || event->kind == WP_EVENT_WAKING || event->kind == WP_EVENT_REASON;
}

/* True when the stack of the woken may come with it. */
static inline bool wp_event_has_waking_stack(const struct wp_event *event)
{
    return event->kind == WP_EVENT_WAKING && event->c == WP_CAUSE_TIMER;
}

/* "switch", "waking" ...; "unknown" out of range. */
const char *wp_event_kind_name(unsigned kind);

#endif
