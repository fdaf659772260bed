/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a host: bursts on a processor, sleeps, and a scheduler that is first come first served. */
#include "tests/fleetgen/gen_host.h"

#include <stdlib.h>

#define QUANTUM_NS 4000000u
#define DISK_MAJOR (8u << 20)
#define SYS_NANOSLEEP 230 /* clock_nanosleep and others, x86-64 */
#define SYS_FDATASYNC 75
#define TO_DISK_NS 20000u

static void run(struct gen_thread *thread);

static uint64_t now(const struct gen_host *host)
{
    return host->sim->now_ns;
}

/* From here on it is in that place; what it was in is true of its trace. */
static void move(struct gen_thread *thread, enum gen_place place)
{
    struct gen_host *host = thread->host;
    if (thread->place == GEN_ON_CPU)
        gen_trace_add(thread->trace, thread->service, WP_UNDERSTOOD_FUNCTIONS, thread->since_ns, now(host));
    else if (thread->place == GEN_RUNNABLE)
        gen_trace_add(thread->trace, thread->service, thread->was_preempted ? WP_INVOLUNTARY : WP_SCHEDULER,
            thread->since_ns, now(host));
    thread->place = place;
    thread->since_ns = now(host);
}

/* The processor's thread leaves it, the next of the queue comes, or none. */
static void dispatch(struct gen_host *host, uint16_t cpu, struct wp_event leaving)
{
    struct gen_thread *next = NULL;
    if (host->queue_count) {
        next = host->queue[0];
        for (uint32_t i = 1; i < host->queue_count; i++)
            host->queue[i - 1] = host->queue[i];
        host->queue_count--;
    }
    host->cpus[cpu].running = next;
    leaving.kind = WP_EVENT_SWITCH;
    leaving.cpu = cpu;
    leaving.other = next ? next->entry : 0;
    if (leaving.thread || leaving.other)
        gen_host_tell(host, leaving);
    if (!next)
        return;
    move(next, GEN_ON_CPU);
    next->cpu = cpu;
    next->was_preempted = false;
    next->used_ns = 0;
    run(next);
}

static void come(void *context, uint64_t cpu)
{
    struct gen_host *host = context;
    host->cpus[cpu].is_coming = false;
    if (!host->cpus[cpu].running && host->queue_count)
        dispatch(host, (uint16_t)cpu, (struct wp_event){0});
}

static void enqueue(struct gen_host *host, struct gen_thread *thread)
{
    host->queue = gen_grow(host->queue, &host->queue_room, host->queue_count + 1, sizeof(*host->queue));
    host->queue[host->queue_count++] = thread;
    uint32_t first = gen_below(host->sim, host->cpu_count);
    for (uint32_t i = 0; i < host->cpu_count; i++) {
        uint32_t cpu = (first + i) % host->cpu_count;
        if (host->cpus[cpu].running || host->cpus[cpu].is_coming)
            continue;
        host->cpus[cpu].is_coming = true;
        gen_at(host->sim, now(host) + 1500 + gen_below(host->sim, 4000), come, host, cpu);
        return;
    }
}

static void preempt(struct gen_thread *thread)
{
    struct gen_host *host = thread->host;
    move(thread, GEN_RUNNABLE);
    thread->was_preempted = true;
    thread->burst++;
    host->queue = gen_grow(host->queue, &host->queue_room, host->queue_count + 1, sizeof(*host->queue));
    host->queue[host->queue_count++] = thread;
    dispatch(host, thread->cpu,
        (struct wp_event){.thread = thread->entry,
            .c = WP_STATE_RUNNING,
            .flags = WP_SWITCH_PREEMPTED,
            .stack = gen_host_stack(host, thread->service, thread->spot)});
}

static void end_slice(void *context, uint64_t burst)
{
    struct gen_thread *thread = context;
    if (thread->burst != burst || thread->place != GEN_ON_CPU)
        return;
    if (!thread->left_ns) {
        move(thread, GEN_ON_CPU);
        thread->then(thread);
    } else {
        run(thread);
    }
}

static void run(struct gen_thread *thread)
{
    if (thread->used_ns >= QUANTUM_NS && thread->host->queue_count) {
        preempt(thread);
        return;
    }
    if (thread->used_ns >= QUANTUM_NS)
        thread->used_ns = 0;
    uint64_t room_ns = QUANTUM_NS - thread->used_ns, slice_ns = thread->left_ns < room_ns ? thread->left_ns : room_ns;
    thread->left_ns -= slice_ns;
    thread->used_ns += slice_ns;
    gen_at(thread->host->sim, now(thread->host) + slice_ns, end_slice, thread, ++thread->burst);
}

void gen_thread_compute(struct gen_thread *thread, enum gen_spot spot, uint64_t ns, gen_step then)
{
    thread->spot = spot;
    thread->left_ns = ns ? ns : 1;
    thread->then = then;
    run(thread);
}

void gen_thread_block(struct gen_thread *thread, enum gen_spot spot, uint32_t syscall, enum wp_task_state state,
    uint64_t resume_ns, gen_step then)
{
    struct gen_host *host = thread->host;
    bool is_nap = syscall == SYS_NANOSLEEP;
    thread->spot = spot;
    thread->syscall = syscall;
    thread->state = state;
    thread->left_ns = resume_ns;
    thread->then = then;
    thread->burst++;
    move(thread, GEN_ASLEEP);
    dispatch(host, thread->cpu,
        (struct wp_event){.thread = thread->entry,
            .c = state,
            .d = syscall + 1,
            .flags = is_nap ? WP_SWITCH_DELIBERATE : 0,
            .stack = gen_host_stack(host, thread->service, spot)});
}

void gen_thread_wake(struct gen_thread *thread, struct wp_event waking)
{
    waking.kind = WP_EVENT_WAKING;
    waking.other = thread->entry;
    gen_host_tell(thread->host, waking);
    move(thread, GEN_RUNNABLE);
    enqueue(thread->host, thread);
}

/* --- timers and the disk --- */

static void wake_by_timer(void *context, uint64_t argument)
{
    struct gen_thread *thread = context;
    struct wp_event waking = {.c = WP_CAUSE_TIMER, .flags = WP_CONTEXT_HARDIRQ};
    (void)argument;
    waking.cpu = gen_host_interrupt(thread->host, &waking.thread);
    gen_trace_add(thread->trace, thread->service, WP_DELIBERATE_SLEEP, thread->since_ns, now(thread->host));
    gen_thread_wake(thread, waking);
}

void gen_thread_nap(struct gen_thread *thread, uint64_t until_ns, gen_step then)
{
    gen_at(thread->host->sim, until_ns, wake_by_timer, thread, 0);
    gen_thread_block(thread, GEN_SPOT_NAP, SYS_NANOSLEEP, WP_STATE_INTERRUPTIBLE, 1500, then);
}

struct request {
    struct gen_thread *thread;
    uint64_t key, insert_ns, issue_ns;
};

static void tell_request(const struct request *request, enum wp_event_kind kind, uint32_t thread, uint16_t cpu)
{
    gen_host_tell(request->thread->host,
        (struct wp_event){.kind = (uint8_t)kind,
            .cpu = cpu,
            .thread = thread,
            .d = DISK_MAJOR,
            .b = request->key,
            .a = request->key * 8,
            .c = 4096,
            .flags = WP_BLOCK_WRITE});
}

static void issue_request(void *context, uint64_t argument)
{
    uint32_t thread;
    const struct request *request = context;
    (void)argument;
    uint16_t cpu = gen_host_interrupt(request->thread->host, &thread);
    tell_request(request, WP_EVENT_BLOCK_ISSUE, thread, cpu);
}

static void complete_request(void *context, uint64_t argument)
{
    struct request *request = context;
    struct gen_thread *thread = request->thread;
    struct wp_event waking = {.c = WP_CAUSE_BLOCK, .flags = WP_CONTEXT_HARDIRQ, .d = DISK_MAJOR, .a = request->key};
    (void)argument;
    waking.cpu = gen_host_interrupt(thread->host, &waking.thread);
    tell_request(request, WP_EVENT_BLOCK_COMPLETE, waking.thread, waking.cpu);
    uint64_t issue_ns = request->issue_ns > thread->since_ns ? request->issue_ns : thread->since_ns;
    gen_trace_add(thread->trace, thread->service, WP_IO_QUEUE, thread->since_ns, issue_ns);
    gen_trace_add(thread->trace, thread->service, WP_BLOCKING_IO, issue_ns, now(thread->host));
    gen_thread_wake(thread, waking);
    free(request);
}

void gen_thread_sync(struct gen_thread *thread, uint64_t ns, gen_step then)
{
    struct gen_host *host = thread->host;
    struct request *request = gen_new(sizeof(*request));
    *request = (struct request){thread, ++host->disk_key, now(host), now(host) + TO_DISK_NS};
    if (request->issue_ns < host->disk_free_ns)
        request->issue_ns = host->disk_free_ns;
    host->disk_free_ns = request->issue_ns + ns;
    tell_request(request, WP_EVENT_BLOCK_INSERT, thread->entry, thread->cpu);
    gen_at(host->sim, request->issue_ns, issue_request, request, 0);
    gen_at(host->sim, host->disk_free_ns, complete_request, request, 0);
    gen_thread_block(thread, GEN_SPOT_SYNC, SYS_FDATASYNC, WP_STATE_UNINTERRUPTIBLE, 3000, then);
}

/* --- life --- */

static uint32_t add_entry(const struct gen_thread *thread, uint32_t parent)
{
    struct gen_host *host = thread->host;
    return gen_host_entry(host,
        &(struct wp_thread_entry){.tid = thread->tid,
            .pid = thread->pid,
            .start_ns = gen_clock_at(&host->clock, now(host)),
            .parent = parent,
            .comm = gen_host_string(host, host->service_name(host->names, thread->service))});
}

struct gen_thread *gen_thread_create(
    struct gen_host *host, uint16_t service, struct gen_thread *parent, bool is_process)
{
    struct gen_thread *thread = NULL;
    for (uint32_t i = 0; parent && is_process && i < host->thread_count && !thread; i++) /* one that ended */
        if (host->threads[i]->place == GEN_NOWHERE)
            thread = host->threads[i];
    if (!thread) {
        thread = gen_new(sizeof(*thread));
        thread->number = host->thread_count;
        host->threads = gen_grow(host->threads, &host->thread_room, host->thread_count + 1, sizeof(*host->threads));
        host->threads[host->thread_count++] = thread;
    }
    uint64_t burst = thread->burst;
    *thread = (struct gen_thread){.host = host,
        .number = thread->number,
        .tid = host->next_tid++,
        .service = service,
        .since_ns = now(host),
        .burst = burst + 1};
    thread->pid = parent && !is_process ? parent->pid : thread->tid;
    thread->entry = add_entry(thread, parent ? parent->entry : 0);
    return thread;
}

void gen_thread_start(struct gen_thread *thread, uint64_t first_ns, gen_step then)
{
    thread->spot = GEN_SPOT_WORK;
    thread->left_ns = first_ns;
    thread->then = then;
    move(thread, GEN_RUNNABLE);
    enqueue(thread->host, thread);
}

struct gen_thread *gen_thread_fork(struct gen_thread *parent, uint64_t first_ns, gen_step then)
{
    struct gen_thread *child = gen_thread_create(parent->host, parent->service, parent, true);
    gen_host_tell(parent->host,
        (struct wp_event){.kind = WP_EVENT_FORK, .cpu = parent->cpu, .thread = parent->entry, .other = child->entry});
    gen_thread_start(child, first_ns, then);
    return child;
}

void gen_thread_exec(struct gen_thread *thread, uint16_t service)
{
    uint32_t before = thread->entry;
    move(thread, GEN_ON_CPU);
    thread->service = service;
    thread->entry = add_entry(thread, before);
    gen_host_tell(thread->host,
        (struct wp_event){.kind = WP_EVENT_EXEC, .cpu = thread->cpu, .thread = before, .other = thread->entry});
}

void gen_thread_exit(struct gen_thread *thread)
{
    struct gen_host *host = thread->host;
    gen_host_tell(host, (struct wp_event){.kind = WP_EVENT_EXIT, .cpu = thread->cpu, .thread = thread->entry});
    move(thread, GEN_NOWHERE);
    thread->burst++;
    thread->trace = NULL;
    dispatch(host, thread->cpu, (struct wp_event){.thread = thread->entry, .c = WP_STATE_DEAD});
}
