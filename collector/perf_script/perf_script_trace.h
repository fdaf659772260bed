/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_TRACE_H
#define WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_TRACE_H
/*
 * What an event says behind its name: the print formats of the kernel's tracepoints
 * (include/trace/events/{sched,task,block,irq}.h, Linux 3.13 to 6.12) and, for switches and wakings, the shorter ones
 * of libtraceevent's plugins; perf_script_net.h has what is said of sockets. Names in them may hold the words that part
 * the fields, so fields are found by more of their surroundings than fits into a name (15 bytes).
 */
#include "collector/perf_script/perf_script_net.h"
#include "collector/perf_script/perf_script_text.h"
#include "proto/event.h"

enum wp_perf_kind {
    WP_PERF_OTHER = 0, /* nothing for us */
    WP_PERF_IGNORED,   /* known, and says nothing that the others do not */
    WP_PERF_SWITCH,
    WP_PERF_WAKING,
    WP_PERF_WAKEUP, /* sched_wakeup and sched_wakeup_new */
    WP_PERF_FORK,
    WP_PERF_EXEC,
    WP_PERF_EXIT,
    WP_PERF_RENAME,
    WP_PERF_BLOCK_INSERT,
    WP_PERF_BLOCK_ISSUE,
    WP_PERF_BLOCK_COMPLETE,
    WP_PERF_IRQ_ENTRY,
    WP_PERF_IRQ_EXIT,
    WP_PERF_SOFTIRQ_ENTRY,
    WP_PERF_SOFTIRQ_EXIT,
    WP_PERF_SAMPLE,
    WP_PERF_LOST,
    /* Sockets. A probe stands at a function's beginning. */
    WP_PERF_TCP_CONNECT, /* asks for a connection */
    WP_PERF_TCP_CONNECTED,
    WP_PERF_TCP_SEND,
    WP_PERF_TCP_ARRIVE,
    WP_PERF_TCP_READ,
    WP_PERF_UDP_SEND,
    WP_PERF_UDP_ARRIVE,
    WP_PERF_UDP_READ,
    WP_PERF_SOCK_STATE,
    WP_PERF_SOCK_SENT,     /* its call returns; protocol as the line says, here and in the next */
    WP_PERF_SOCK_RECEIVED, /* the same */
    WP_PERF_SOCK_READABLE, /* its readers are woken */
};

struct wp_perf_trace {
    struct wp_text comm, other_comm; /* SWITCH: prev, next; WAKING: the woken in other_comm; FORK: parent, child;
                                      * RENAME: before, after */
    struct wp_text file;             /* EXEC */
    uint32_t tid, other_tid;         /* as comm; EXEC: before, after */
    enum wp_task_state state;        /* SWITCH */
    bool is_preempted;               /* SWITCH: R+ */
    uint32_t device, bytes;          /* BLOCK_* */
    uint64_t sector, request;        /* BLOCK_*: request = its key */
    uint8_t block_flags;             /* WP_BLOCK_* */
    uint32_t number;                 /* IRQ_*, SOFTIRQ_* */
    struct wp_perf_net net;          /* TCP_*, UDP_*, SOCK_* */
};

/* "sched:sched_switch", "sched_switch", "cycles:P", "cpu-clock/freq=99/", "probe:tcp_sendmsg_1" ... */
enum wp_perf_kind wp_perf_kind_of(struct wp_text event);
/* False when the text is not of this kind's form. */
bool wp_perf_trace_parse(enum wp_perf_kind kind, struct wp_text text, struct wp_perf_trace *trace);
/* "S", "R+", "D|K", "t", "0x2", "130" ...; false for an unknown one. */
bool wp_perf_state_parse(struct wp_text text, enum wp_task_state *state, bool *is_preempted);

#endif
