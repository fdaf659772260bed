/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fleetgen/gen_service.h"

#include "tests/fleetgen/gen_fleet.h"

#include <stdlib.h>

#define SYS_EPOLL_WAIT 232
#define SYS_WAIT4 61
#define FORK_COST_NS 60000u

static void begin(struct gen_thread *thread);
static void do_next(struct gen_thread *thread);
static void look_for_work(struct gen_thread *thread);

static struct gen_worker *worker_of(const struct gen_thread *thread)
{
    return thread->program;
}

static const struct gen_service *service_of(const struct gen_worker *worker)
{
    return &worker->plan->services[worker->replica->service];
}

/* --- requests come --- */

static void serve(struct gen_thread *thread)
{
    worker_of(thread)->doing = 0;
    gen_message_drop(thread->waits_on);
    do_next(thread);
}

static void take(struct gen_thread *thread)
{
    gen_stream_read(thread, worker_of(thread)->client, serve);
}

static void claim(struct gen_worker *worker, struct gen_end *end)
{
    struct gen_message *m = end->inbox;
    worker->client = end;
    worker->thread->trace = m->trace;
    uint64_t arrived_ns = m->arrived_ns ? m->arrived_ns : worker->fleet->sim.now_ns;
    gen_trace_add(m->trace, worker->replica->service, WP_MESSAGE_IN_FLIGHT, m->sent_ns, arrived_ns);
    gen_trace_add(m->trace, worker->replica->service, WP_OTHER_PATH, arrived_ns, worker->fleet->sim.now_ns);
}

void gen_replica_readable(struct gen_end *end)
{
    struct gen_replica *replica = end->owner;
    struct gen_host *host = replica->host;
    if (end->is_queued)
        return;
    end->is_queued = true;
    if (!replica->idle_count) {
        replica->ready =
            gen_grow(replica->ready, &replica->ready_room, replica->ready_count + 1, sizeof(*replica->ready));
        replica->ready[replica->ready_count++] = end;
        return;
    }
    struct gen_worker *worker = replica->idle[--replica->idle_count];
    struct wp_event waking = {.c = WP_CAUSE_MESSAGE,
        .flags = WP_CONTEXT_SOFTIRQ,
        .d = end->socket,
        .a = (uint32_t)(end->stream->ends[0].first + 1 + end->arrived)};
    waking.cpu = gen_host_interrupt(host, &waking.thread);
    claim(worker, end);
    gen_thread_wake(worker->thread, waking);
}

/* It is on a processor and serves nobody. */
static void look_for_work(struct gen_thread *thread)
{
    struct gen_worker *worker = worker_of(thread);
    struct gen_replica *replica = worker->replica;
    if (replica->ready_count) {
        struct gen_end *end = replica->ready[0];
        for (uint32_t i = 1; i < replica->ready_count; i++)
            replica->ready[i - 1] = replica->ready[i];
        replica->ready_count--;
        claim(worker, end);
        take(thread);
        return;
    }
    replica->idle = gen_grow(replica->idle, &replica->idle_room, replica->idle_count + 1, sizeof(*replica->idle));
    replica->idle[replica->idle_count++] = worker;
    gen_thread_block(thread, GEN_SPOT_READ, SYS_EPOLL_WAIT, WP_STATE_INTERRUPTIBLE, 1000, take);
}

static void answered(struct gen_thread *thread)
{
    struct gen_worker *worker = worker_of(thread);
    struct gen_trace *trace = thread->trace;
    thread->trace = NULL;
    gen_trace_release(trace);
    worker->client->is_queued = false;
    if (worker->client->inbox &&
        worker->client->arrived != worker->client->read) /* the next one was quicker than this call */
        gen_replica_readable(worker->client);
    look_for_work(thread);
}

static void finish(struct gen_thread *thread)
{
    struct gen_worker *worker = worker_of(thread);
    if (!service_of(worker)->is_base) {
        gen_stream_send(thread, worker->client, service_of(worker)->answer_bytes, thread->trace, answered);
        return;
    }
    worker->fleet->requests++;
    if (worker->outside)
        gen_stream_send(thread, &worker->outside->ends[1], service_of(worker)->answer_bytes, NULL, begin);
    else
        begin(thread);
}

/* --- the base's requests --- */

static void ask_from_outside(void *context, uint64_t argument)
{
    struct gen_worker *worker = context;
    (void)argument;
    gen_stream_send_unseen(&worker->outside->ends[0], 300);
}

static void do_first(struct gen_thread *thread)
{
    struct gen_worker *worker = worker_of(thread);
    worker->doing = 0;
    if (worker->outside)
        gen_message_drop(&worker->outside->ends[1]);
    do_next(thread);
}

static void begin(struct gen_thread *thread)
{
    struct gen_worker *worker = worker_of(thread);
    struct gen_sim *sim = &worker->fleet->sim;
    uint64_t from_ns = sim->now_ns < worker->fleet->begin_ns ? worker->fleet->begin_ns : sim->now_ns;
    const struct gen_service *service = service_of(worker);
    uint64_t longer = from_ns - worker->fleet->begin_ns < service->quiet_ns ? 20 : 1;
    uint64_t until_ns = from_ns + 20000 + gen_about(sim, service->pause_ns * longer, 80);
    struct gen_message *m = worker->outside ? worker->outside->ends[0].inbox : NULL;
    while (m) { /* the answer that nobody reads */
        gen_message_drop(&worker->outside->ends[0]);
        m = worker->outside->ends[0].inbox;
    }
    if (!worker->outside) {
        gen_thread_nap(thread, until_ns, do_first);
        return;
    }
    gen_at(sim, until_ns, ask_from_outside, worker, 0);
    gen_stream_read(thread, &worker->outside->ends[1], do_first);
}

/* --- asking others --- */

static void hear(struct gen_thread *thread);

static void heard(struct gen_thread *thread)
{
    struct gen_worker *worker = worker_of(thread);
    gen_message_drop(worker->asked[worker->target]);
    gen_trace_release(worker->asked_traces[worker->target]);
    worker->target++;
    hear(thread);
}

static void hear(struct gen_thread *thread)
{
    struct gen_worker *worker = worker_of(thread);
    const struct gen_doing *doing = &service_of(worker)->doings[worker->doing];
    if (worker->target < doing->target_count) {
        gen_stream_read(thread, worker->asked[worker->target], heard);
        return;
    }
    worker->doing++;
    do_next(thread);
}

static void ask(struct gen_thread *thread);

static void ask_it(struct gen_thread *thread)
{
    struct gen_worker *worker = worker_of(thread);
    const struct gen_doing *doing = &service_of(worker)->doings[worker->doing];
    struct gen_trace *trace = gen_trace_create();
    struct gen_end *end = worker->asked[worker->target];
    worker->asked_traces[worker->target++] = trace;
    gen_stream_send(thread, end, doing->bytes, trace, ask);
}

static void ask(struct gen_thread *thread)
{
    struct gen_worker *worker = worker_of(thread);
    const struct gen_plan *plan = worker->plan;
    const struct gen_doing *doing = &service_of(worker)->doings[worker->doing];
    if (worker->target == doing->target_count) {
        worker->target = 0;
        hear(thread);
        return;
    }
    uint32_t service = doing->targets[worker->target];
    struct gen_stream **stream = &worker->streams[service * plan->fan + gen_below(&worker->fleet->sim, plan->fan)];
    if (plan->reconnect && ++worker->served % plan->reconnect == 0) {
        struct gen_stream *next = gen_fleet_stream(worker->fleet, worker->replica, (*stream)->ends[1].owner, false);
        gen_stream_close(thread, *stream);
        *stream = next;
        worker->asked[worker->target] = &next->ends[0];
        gen_stream_connect(thread, next, ask_it);
        return;
    }
    worker->asked[worker->target] = &(*stream)->ends[0];
    if ((*stream)->is_connected || (*stream)->options.is_old)
        ask_it(thread);
    else
        gen_stream_connect(thread, *stream, ask_it);
}

/* --- a child process --- */

static void child_ends(struct gen_thread *child)
{
    struct gen_worker *worker = worker_of(child);
    struct gen_thread *parent = worker->thread;
    worker->is_busy_child = false;
    if (parent->place == GEN_ASLEEP) {
        gen_trace_splice(parent->trace, child->trace, parent->since_ns, child->host->sim->now_ns);
        gen_thread_wake(parent, (struct wp_event){.c = WP_CAUSE_TASK, .cpu = child->cpu, .thread = child->entry});
    }
    gen_trace_release(child->trace);
    gen_thread_exit(child);
}

static void child_execs(struct gen_thread *child)
{
    struct gen_worker *worker = worker_of(child);
    const struct gen_plan *plan = worker->plan;
    uint64_t mean_ns = service_of(worker)->doings[worker->doing].mean_ns;
    gen_thread_exec(child, (uint16_t)(plan->service_count - 1));
    gen_thread_compute(child, GEN_SPOT_WORK, gen_about(child->host->sim, mean_ns, plan->spread_percent), child_ends);
}

static void child_over(struct gen_thread *thread)
{
    struct gen_worker *worker = worker_of(thread);
    gen_trace_release(worker->child_trace);
    worker->doing++;
    do_next(thread);
}

static void wait_for_child(struct gen_thread *thread)
{
    if (worker_of(thread)->is_busy_child)
        gen_thread_block(thread, GEN_SPOT_WAIT, SYS_WAIT4, WP_STATE_INTERRUPTIBLE, 2000, child_over);
    else
        child_over(thread);
}

static void fork_child(struct gen_thread *thread)
{
    struct gen_worker *worker = worker_of(thread);
    worker->child_trace = gen_trace_create();
    worker->is_busy_child = true;
    worker->child = gen_thread_fork(thread, 20000, child_execs);
    worker->child->program = worker;
    worker->child->trace = worker->child_trace;
    gen_thread_compute(thread, GEN_SPOT_WAIT, 2000, wait_for_child);
}

/* --- one thing after the other --- */

static void done_one(struct gen_thread *thread)
{
    worker_of(thread)->doing++;
    do_next(thread);
}

static void do_next(struct gen_thread *thread)
{
    struct gen_worker *worker = worker_of(thread);
    const struct gen_service *service = service_of(worker);
    struct gen_sim *sim = &worker->fleet->sim;
    if (worker->doing == service->doing_count) {
        finish(thread);
        return;
    }
    const struct gen_doing *doing = &service->doings[worker->doing];
    uint64_t ns = gen_about(sim, doing->mean_ns, worker->plan->spread_percent);
    switch (doing->kind) {
    case GEN_BUSY:
        gen_thread_compute(thread, GEN_SPOT_WORK, ns, done_one);
        break;
    case GEN_SLEEP:
        gen_thread_nap(thread, sim->now_ns + ns, done_one);
        break;
    case GEN_DISK:
        gen_thread_sync(thread, ns, done_one);
        break;
    case GEN_FORK:
        gen_thread_compute(thread, GEN_SPOT_WAIT, FORK_COST_NS, fork_child);
        break;
    case GEN_CALL:
        worker->target = 0;
        ask(thread);
        break;
    }
}

/* --- life --- */

struct gen_worker *gen_worker_create(struct gen_fleet *fleet, struct gen_replica *replica)
{
    struct gen_worker *worker = gen_new(sizeof(*worker));
    const struct gen_plan *plan = &fleet->plan;
    *worker = (struct gen_worker){.fleet = fleet, .plan = plan, .replica = replica};
    worker->streams = gen_new(sizeof(struct gen_stream *) * plan->service_count * plan->fan);
    worker->thread = gen_thread_create(replica->host, replica->service, NULL, true);
    worker->thread->program = worker;
    if (!service_of(worker)->is_base)
        return worker;
    worker->root = (struct gen_trace){.sums = &fleet->sums, .holders = 1, .since_ns = UINT64_MAX};
    worker->thread->trace = &worker->root;
    return worker;
}

void gen_worker_start(struct gen_worker *worker)
{
    bool is_base = service_of(worker)->is_base;
    gen_thread_start(worker->thread, 5000, is_base ? begin : look_for_work);
}

void gen_worker_destroy(struct gen_worker *worker)
{
    if (!worker)
        return;
    free(worker->streams);
    free(worker);
}
