/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_FACTS_H
#define WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_FACTS_H
/*
 * One event of perf's text, its head and its stack, to a fact. What a single event does not say is remembered here: who
 * is on each CPU, which request ended and which packet arrived there last, which sockets there are, which interrupt is
 * being handled, which process a thread belongs to.
 */
#include "collector/perf_script/perf_script_cause.h"
#include "collector/perf_script/perf_script_packets.h"
#include "collector/perf_script/perf_script_stack.h"
#include "collector/perf_script/perf_script_trace.h"
#include "common/intmap.h"

#define WP_PERF_COMM 64u
#define WP_PERF_PATH 4096u

/* An event whose stack may still come: pieces of lines do not last, so it holds copies. */
struct wp_perf_event {
    enum wp_perf_kind kind;
    uint64_t time_ns;
    uint32_t cpu, pid, tid; /* pid 0: unknown */
    bool has_tid;
    char head_comm[WP_PERF_COMM], comm[WP_PERF_COMM], other_comm[WP_PERF_COMM];
    char file[WP_PERF_PATH];
    struct wp_perf_trace trace; /* its pieces of text are void: see the copies */
    struct wp_perf_stack stack;
};

/* What is remembered of one processor. */
struct wp_perf_cpu {
    uint64_t last_ns; /* of its last event */
    uint32_t tid;     /* who runs there, if has_tid */
    bool has_tid;
    char comm[WP_PERF_COMM];
    struct wp_perf_marks marks;
    uint64_t request, done_ns; /* the request that ended there last */
    uint32_t device;
    struct wp_perf_packets packets;
};

/* What is remembered from event to event. Embedded: init with {0}. */
struct wp_perf_state {
    struct wp_perf_cpu *cpus; /* owned, cpu_count of them */
    uint32_t cpu_count;
    struct wp_intmap pids; /* tid -> pid of threads that are no leaders */
    struct wp_perf_sockets sockets;
    bool has_waking; /* a sched_waking was seen: wakeups say nothing new */
};

/* There is a row for this processor (< WP_PERF_CPUS) from now on. Starts zeroed. -ENOMEM. */
int wp_perf_state_reach(struct wp_perf_state *state, uint32_t cpu);
/* Frees the rows and zeroes the state, which can be used again. A zeroed one is allowed. */
void wp_perf_state_fini(struct wp_perf_state *state);
/* Copies out of the line; false when the event says something in no known form. */
bool wp_perf_event_begin(struct wp_perf_event *event, enum wp_perf_kind kind, const struct wp_perf_head *head);
/* Does its stack matter? */
bool wp_perf_event_wants_stack(const struct wp_perf_event *event);
/* Gives the event to the sink; 0 also when it only changes what is remembered. */
int wp_perf_event_deliver(
    struct wp_perf_event *event, struct wp_perf_state *state, const struct wp_fact_sink *sink, struct wp_error *err);

#endif
