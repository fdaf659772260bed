/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/perf_script/perf_script_facts.h"

#include "collector/perf_script/perf_script_syscall.h"
#include "common/array.h"
#include "common/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define COMM_ROOM 16u              /* TASK_COMM_LEN */
#define DONE_FRESH_NS WP_NS_PER_MS /* a request that ended longer ago did not cause this waking */
#define KTHREADD 2u

int wp_perf_state_reach(struct wp_perf_state *state, uint32_t cpu)
{
    return WP_ARRAY_FIT_ZERO(state->cpus, state->cpu_count, cpu + 1);
}

void wp_perf_state_fini(struct wp_perf_state *state)
{
    free(state->cpus);
    wp_intmap_fini(&state->pids);
    wp_perf_sockets_fini(&state->sockets);
    *state = (struct wp_perf_state){0};
}

bool wp_perf_event_begin(struct wp_perf_event *event, enum wp_perf_kind kind, const struct wp_perf_head *head)
{
    wp_perf_stack_clear(&event->stack);
    if (!wp_perf_trace_parse(kind, head->trace, &event->trace))
        return false;
    event->kind = kind;
    event->cpu = head->cpu;
    event->pid = head->pid;
    event->tid = head->tid;
    event->has_tid = head->has_tid;
    wp_text_copy(head->comm, event->head_comm, COMM_ROOM);
    wp_text_copy(event->trace.comm, event->comm, sizeof(event->comm));
    wp_text_copy(event->trace.other_comm, event->other_comm, sizeof(event->other_comm));
    wp_text_copy(event->trace.file, event->file, sizeof(event->file));
    return true;
}

bool wp_perf_event_wants_stack(const struct wp_perf_event *event)
{
    switch (event->kind) {
    case WP_PERF_SWITCH:
    case WP_PERF_WAKING:
    case WP_PERF_WAKEUP:
    case WP_PERF_FORK:
    case WP_PERF_SAMPLE:
    case WP_PERF_UDP_ARRIVE:
        return true;
    default:
        return false;
    }
}

/* --- who --- */

/* A thread whose group was not said yet counts as a process of its own: better than all of them as one. */
static uint32_t pid_of(const struct wp_perf_state *state, uint32_t tid)
{
    uint32_t pid;
    return tid && wp_intmap_get(&state->pids, (struct wp_intkey){tid, 0}, &pid) ? pid : tid;
}

static int set_pid(struct wp_perf_state *state, uint32_t tid, uint32_t pid)
{
    struct wp_intkey key = {tid, 0};
    if (pid != tid)
        return wp_intmap_put(&state->pids, key, pid);
    wp_intmap_remove(&state->pids, key);
    return 0;
}

static int learn(struct wp_perf_event *event, struct wp_perf_state *state)
{
    if (!event->has_tid || !event->tid || !event->pid || pid_of(state, event->tid) == event->pid)
        return 0;
    return set_pid(state, event->tid, event->pid);
}

static void set_current(struct wp_perf_cpu *cpu, uint32_t tid, const char *comm)
{
    cpu->has_tid = true;
    cpu->tid = tid;
    memcpy(cpu->comm, comm, WP_PERF_COMM);
}

/* The thread that the event happened to: perf may have forgotten it (-1) where the last switch says who it is. The
 * tracepoint's name of it is better than perf's, which for kernel workers is another. */
static void fill_current(const struct wp_perf_event *event, const struct wp_perf_state *state, struct wp_fact *fact)
{
    const struct wp_perf_cpu *cpu = &state->cpus[event->cpu];
    fact->tid = event->has_tid ? event->tid : cpu->has_tid ? cpu->tid : 0;
    fact->comm = cpu->has_tid && cpu->tid == fact->tid ? cpu->comm : event->has_tid ? event->head_comm : "";
    fact->pid = pid_of(state, fact->tid);
}

/* --- events --- */

static bool is_kernel_thread(const struct wp_perf_stack *stack)
{
    return stack->count && stack->frames[0].is_kernel &&
        (!strncmp(stack->frames[0].function, "ret_from_fork", 13) || !strcmp(stack->frames[0].function, "kthread"));
}

static void fill_switch(struct wp_perf_event *event, struct wp_perf_state *state, struct wp_fact *fact)
{
    const struct wp_perf_trace *trace = &event->trace;
    struct wp_perf_cpu *cpu = &state->cpus[event->cpu];
    uint32_t depth = event->stack.count;
    fact->event.kind = WP_EVENT_SWITCH;
    fact->event.c = trace->state;
    fact->event.d = wp_perf_stack_syscall(event->stack.frames, depth);
    fact->tid = trace->tid;
    fact->comm = event->comm;
    fact->pid = pid_of(state, trace->tid);
    fact->other_tid = trace->other_tid;
    fact->other_comm = event->other_comm;
    fact->other_pid = pid_of(state, trace->other_tid);
    fact->thread_flags = is_kernel_thread(&event->stack) ? WP_THREAD_KERNEL : 0;
    bool is_yield = fact->event.d == WP_PERF_SCHED_YIELD + 1 && !trace->is_preempted;
    if (trace->state == WP_STATE_RUNNING && trace->tid && !is_yield)
        fact->event.flags = WP_SWITCH_PREEMPTED;
    else if (fact->event.d == WP_PERF_NANOSLEEP + 1 || fact->event.d == WP_PERF_CLOCK_NANOSLEEP + 1)
        fact->event.flags = WP_SWITCH_DELIBERATE;
    if (trace->tid && trace->state != WP_STATE_RUNNING && trace->state != WP_STATE_DEAD) {
        fact->frames = event->stack.frames;
        fact->frame_count = depth;
    }
    set_current(cpu, trace->other_tid, event->other_comm);
    cpu->marks = (struct wp_perf_marks){0}; /* no switch inside an interrupt: their ends were lost */
}

static void fill_waking(struct wp_perf_event *event, struct wp_perf_state *state, struct wp_fact *fact)
{
    const struct wp_perf_cpu *cpu = &state->cpus[event->cpu];
    fact->event.kind = WP_EVENT_WAKING;
    fact->other_tid = event->trace.other_tid;
    fact->other_comm = event->other_comm;
    fact->other_pid = pid_of(state, fact->other_tid);
    struct wp_perf_cause cause = wp_perf_cause_of(event->stack.frames, event->stack.count, &cpu->marks, fact->tid);
    fact->event.c = cause.cause;
    fact->event.flags = cause.context;
    fact->event.d = cause.number;
    if (cause.cause == WP_CAUSE_BLOCK && cpu->request && event->time_ns - cpu->done_ns <= DONE_FRESH_NS) {
        fact->event.a = cpu->request;
        fact->event.d = cpu->device;
    }
    struct wp_perf_received received;
    if (wp_perf_cause_received(event->stack.frames, event->stack.count, &cpu->marks, &received))
        wp_perf_packets_waking(&cpu->packets, &state->sockets, &received, fact);
}

static int fill_packet(struct wp_perf_event *event, struct wp_perf_state *state, struct wp_fact *fact)
{
    struct wp_perf_cpu *cpu = &state->cpus[event->cpu];
    struct wp_perf_received received = {0};
    bool has_way = event->kind == WP_PERF_UDP_ARRIVE && event->stack.count &&
        wp_perf_cause_received(event->stack.frames, event->stack.count, &cpu->marks, &received);
    const struct wp_perf_packet packet = {event->kind, &event->trace.net, has_way ? &received : NULL};
    return wp_perf_packets_event(&cpu->packets, &state->sockets, &packet, fact);
}

static int fill_fork(struct wp_perf_event *event, struct wp_perf_state *state, struct wp_fact *fact)
{
    fact->event.kind = WP_EVENT_FORK;
    fact->event.flags = wp_perf_stack_fork(event->stack.frames, event->stack.count);
    fact->tid = event->trace.tid;
    fact->comm = event->comm;
    fact->pid = pid_of(state, fact->tid);
    fact->other_tid = event->trace.other_tid;
    fact->other_comm = event->other_comm;
    fact->other_pid = fact->event.flags & WP_FORK_THREAD ? fact->pid : fact->other_tid;
    fact->thread_flags = fact->tid == KTHREADD ? WP_THREAD_KERNEL : 0;
    fact->start_ns = event->time_ns;
    return set_pid(state, fact->other_tid, fact->other_pid);
}

/* As sources say it: the thread after the exec, and in other_* the one that called, which may be another of the group.
 */
static int fill_exec(struct wp_perf_event *event, struct wp_perf_state *state, struct wp_fact *fact)
{
    struct wp_perf_cpu *cpu = &state->cpus[event->cpu];
    const char *slash = strrchr(event->file, '/');
    wp_text_copy(wp_text_of(slash ? slash + 1 : event->file), event->comm, COMM_ROOM);
    fact->event.kind = WP_EVENT_EXEC;
    fact->tid = fact->pid = fact->other_pid = event->trace.other_tid; /* an exec leaves the leader */
    fact->comm = event->comm;
    fact->other_tid = event->trace.tid;
    if (cpu->has_tid && cpu->tid == event->trace.tid) {
        memcpy(event->other_comm, cpu->comm, sizeof(event->other_comm));
        fact->other_comm = event->other_comm;
    }
    fact->exe = event->file;
    set_current(cpu, fact->tid, event->comm);
    return set_pid(state, fact->tid, fact->pid);
}

static void fill_rename(struct wp_perf_event *event, struct wp_perf_state *state, struct wp_fact *fact)
{
    struct wp_perf_cpu *cpu = &state->cpus[event->cpu];
    fact->event.kind = WP_EVENT_RENAME;
    fact->event.flags = !event->trace.tid || event->trace.tid == fact->tid ? WP_RENAME_OWN : 0;
    if (event->trace.tid)
        fact->tid = event->trace.tid;
    fact->pid = pid_of(state, fact->tid);
    fact->comm = event->other_comm;
    if (cpu->has_tid && cpu->tid == fact->tid)
        set_current(cpu, fact->tid, event->other_comm);
}

static void fill_exit(struct wp_perf_event *event, struct wp_perf_state *state, struct wp_fact *fact)
{
    fact->event.kind = WP_EVENT_EXIT;
    fact->tid = event->trace.tid;
    fact->comm = event->comm;
    fact->pid = pid_of(state, fact->tid);
}

static void fill_block(struct wp_perf_event *event, struct wp_perf_state *state, struct wp_fact *fact)
{
    const struct wp_perf_trace *trace = &event->trace;
    fact->event.kind = event->kind == WP_PERF_BLOCK_INSERT ? WP_EVENT_BLOCK_INSERT
        : event->kind == WP_PERF_BLOCK_ISSUE               ? WP_EVENT_BLOCK_ISSUE
                                                           : WP_EVENT_BLOCK_COMPLETE;
    fact->event.a = trace->sector == UINT64_MAX ? 0 : trace->sector;
    fact->event.b = trace->request;
    fact->event.c = trace->bytes;
    fact->event.d = trace->device;
    fact->event.flags = trace->block_flags;
    if (event->kind != WP_PERF_BLOCK_COMPLETE)
        return;
    struct wp_perf_cpu *cpu = &state->cpus[event->cpu];
    cpu->request = trace->request;
    cpu->device = trace->device;
    cpu->done_ns = event->time_ns;
}

/* Interrupts come and go without a fact of their own. */
static void mark(const struct wp_perf_event *event, struct wp_perf_marks *marks)
{
    bool is_irq = event->kind == WP_PERF_IRQ_ENTRY || event->kind == WP_PERF_IRQ_EXIT;
    bool enters = event->kind == WP_PERF_IRQ_ENTRY || event->kind == WP_PERF_SOFTIRQ_ENTRY;
    *(is_irq ? &marks->in_irq : &marks->in_softirq) = enters;
    *(is_irq ? &marks->irq : &marks->vector) = event->trace.number;
}

/* 1: there is a fact, 0: none, -errno. */
static int fill(struct wp_perf_event *event, struct wp_perf_state *state, struct wp_fact *fact)
{
    int rc = 0;
    fill_current(event, state, fact);
    switch (event->kind) {
    case WP_PERF_SWITCH:
        fill_switch(event, state, fact);
        break;
    case WP_PERF_WAKING:
        state->has_waking = true;
        fill_waking(event, state, fact);
        break;
    case WP_PERF_WAKEUP:
        if (state->has_waking)
            return 0;
        fill_waking(event, state, fact);
        break;
    case WP_PERF_FORK:
        rc = fill_fork(event, state, fact);
        break;
    case WP_PERF_EXEC:
        rc = fill_exec(event, state, fact);
        break;
    case WP_PERF_EXIT:
        fill_exit(event, state, fact);
        break;
    case WP_PERF_RENAME:
        fill_rename(event, state, fact);
        break;
    case WP_PERF_BLOCK_INSERT:
    case WP_PERF_BLOCK_ISSUE:
    case WP_PERF_BLOCK_COMPLETE:
        fill_block(event, state, fact);
        break;
    case WP_PERF_SAMPLE:
        fact->event.kind = WP_EVENT_SAMPLE;
        fact->frames = event->stack.frames;
        fact->frame_count = event->stack.count;
        return fact->tid != 0; /* the idle task has no time to explain */
    case WP_PERF_TCP_CONNECT:
    case WP_PERF_TCP_CONNECTED:
    case WP_PERF_TCP_SEND:
    case WP_PERF_TCP_ARRIVE:
    case WP_PERF_TCP_READ:
    case WP_PERF_UDP_SEND:
    case WP_PERF_UDP_ARRIVE:
    case WP_PERF_UDP_READ:
    case WP_PERF_SOCK_STATE:
    case WP_PERF_SOCK_SENT:
    case WP_PERF_SOCK_RECEIVED:
    case WP_PERF_SOCK_READABLE:
        return fill_packet(event, state, fact);
    default:
        mark(event, &state->cpus[event->cpu].marks);
        return 0;
    }
    return rc ? rc : 1;
}

int wp_perf_event_deliver(
    struct wp_perf_event *event, struct wp_perf_state *state, const struct wp_fact_sink *sink, struct wp_error *err)
{
    struct wp_fact fact = {.event = {.time_ns = event->time_ns, .cpu = (uint16_t)event->cpu}};
    wp_perf_stack_frames(&event->stack);
    int rc = learn(event, state);
    if (!rc)
        rc = fill(event, state, &fact);
    if (rc < 0)
        return wp_error_set(err, rc, "out of memory");
    return rc ? sink->fact(sink->context, &fact, err) : 0;
}
