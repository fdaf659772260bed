/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aggregator/made_trace.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define THREADS 400u
#define CPUS 16u
#define ENTRIES 8192u
#define PAIRS 4u
#define REQUESTS 8u

enum where { NOWHERE, ASLEEP, RUNNABLE, ON_CPU };

struct actor { /* a thread of the machine */
    enum where where;
    bool is_base;
    uint32_t entry; /* dictionary id now */
    uint32_t tid, pid;
    uint64_t since_ns; /* base: accounted for from here */
    uint64_t left_ns;  /* last switch-out (or birth) */
};

struct request {
    uint64_t key;
    int step; /* 0 none, 1 inserted, 2 issued */
};

struct machine {
    struct made_trace *trace;
    struct made_options options;
    uint64_t seed, now_ns;
    uint64_t loss_seed; /* apart: what the machine does must not depend on what is lost */
    uint32_t dropping;  /* left of a burst, which began at loss_ns */
    uint64_t loss_ns;
    struct actor actors[THREADS];
    uint32_t actor_count, next_tid, names;
    uint32_t running[CPUS];                    /* actor, 0 idle */
    uint32_t sent[PAIRS * 2], read[PAIRS * 2]; /* stream positions by socket */
    struct request requests[REQUESTS];
    uint64_t next_key;
};

uint64_t made_random(uint64_t *seed) /* splitmix64 */
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static uint32_t pick(struct machine *m, uint32_t below)
{
    return (uint32_t)(made_random(&m->seed) % below);
}

static void *room_for(size_t count, size_t size)
{
    void *rows = calloc(count, size);
    if (!rows)
        abort();
    return rows;
}

/* --- dictionary --- */

static uint32_t add_string(struct machine *m, const char *text)
{
    struct wp_batch *b = &m->trace->whole;
    for (uint32_t i = 0; i < b->string_count; i++)
        if (b->strings[i].size == strlen(text) && !memcmp(b->strings[i].data, text, b->strings[i].size))
            return i + 1;
    if (b->string_count == ENTRIES)
        return 1;
    b->strings[b->string_count] = (struct wp_bytes){strdup(text), (uint32_t)strlen(text)};
    return ++b->string_count;
}

static uint32_t any_comm(struct machine *m, bool is_base)
{
    char text[32];
    snprintf(text, sizeof(text), "%c%u", is_base ? 'b' : 'o', pick(m, 12));
    return add_string(m, text);
}

static uint32_t flags_of(const struct machine *m, const struct actor *actor)
{
    if (actor->is_base)
        return WP_THREAD_COMMAND;
    return m->options.recorder_odds && actor->pid % m->options.recorder_odds == 0 ? WP_THREAD_SELF : 0;
}

static uint32_t add_thread(struct machine *m, const struct actor *actor, uint32_t parent)
{
    struct wp_batch *b = &m->trace->whole;
    if (b->thread_count == ENTRIES)
        abort();
    b->threads[b->thread_count] = (struct wp_thread_entry){.tid = actor->tid,
        .pid = actor->pid,
        .start_ns = m->now_ns,
        .comm = any_comm(m, actor->is_base),
        .parent = parent,
        .flags = flags_of(m, actor)};
    return ++b->thread_count;
}

static uint32_t any_stack(struct machine *m)
{
    struct wp_batch *b = &m->trace->whole;
    if (!pick(m, 5))
        return 0;
    if (b->stack_count && (b->stack_count == ENTRIES || pick(m, 4)))
        return 1 + pick(m, b->stack_count);
    if (!b->frame_count || (!pick(m, 3) && b->frame_count < ENTRIES)) {
        char text[32];
        snprintf(text, sizeof(text), "f%u", b->frame_count);
        b->frames[b->frame_count++] =
            (struct wp_frame_entry){.function = add_string(m, text), .is_kernel = !pick(m, 3)};
    }
    b->stacks[b->stack_count] = (struct wp_stack_entry){pick(m, b->stack_count + 1), 1 + pick(m, b->frame_count)};
    return ++b->stack_count;
}

static void make_sockets(struct machine *m)
{
    struct wp_batch *b = &m->trace->whole;
    for (uint32_t i = 0; i < PAIRS * 2; i++) { /* the last pair's second end is on another host: its ports differ */
        uint16_t here = (uint16_t)(100 + i), there = (uint16_t)(100 + (i ^ 1u));
        struct wp_socket_entry *entry = &b->sockets[b->socket_count++];
        *entry = (struct wp_socket_entry){.family = AF_INET,
            .protocol = IPPROTO_TCP,
            .local_port = here,
            .remote_port = i / 2 + 1 == PAIRS ? (uint16_t)(there + 1000) : there,
            .netns = 1};
        entry->local[0] = entry->remote[0] = 127;
        m->sent[i] = (uint32_t)made_random(&m->seed); /* sequence numbers wrap */
        m->read[i ^ 1u] = m->sent[i];
    }
}

/* --- events --- */

static void happen(struct machine *m, struct wp_event event)
{
    struct made_trace *trace = m->trace;
    struct wp_batch *b = &trace->whole;
    event.time_ns = m->now_ns;
    bool is_first = made_random(&m->loss_seed) % 1000 < m->options.drop_per_mille;
    if ((is_first || m->dropping) && event.kind != WP_EVENT_STATE) {
        if (!m->dropping)
            m->loss_ns = m->now_ns;
        m->dropping = is_first ? m->options.drop_burst : m->dropping - 1;
        if (made_random(&m->loss_seed) % 2) /* some losses are known to be losses, since the first of them in a burst */
            b->drops[b->drop_count++] = (struct wp_drop){
                event.kind, event.cpu, 1, m->loss_ns, m->now_ns, event.cpu % 2 ? WP_DROP_PAUSED : WP_DROP_NO_ROOM};
        return;
    }
    trace->use[b->event_count] =
        (struct made_use){b->string_count, b->thread_count, b->socket_count, b->frame_count, b->stack_count};
    b->events[b->event_count++] = event;
}

static uint32_t entry_on(const struct machine *m, uint32_t cpu)
{
    return m->actors[m->running[cpu]].entry; /* of actor 0, idle: 0 */
}

/* An actor in that place, or 0. */
static uint32_t any_actor(struct machine *m, enum where where)
{
    uint32_t first = pick(m, m->actor_count);
    for (uint32_t i = 0; i < m->actor_count; i++) {
        uint32_t actor = 1 + (first + i) % m->actor_count;
        if (m->actors[actor].where == where)
            return actor;
    }
    return 0;
}

static uint32_t new_actor(struct machine *m, const struct actor *like)
{
    m->actors[++m->actor_count] = *like;
    return m->actor_count;
}

static void end_of(struct machine *m, const struct actor *actor, uint64_t at_ns)
{
    if (actor->is_base && at_ns > actor->since_ns)
        m->trace->base_ns += at_ns - actor->since_ns;
}

static void leave(struct machine *m, uint32_t cpu, struct wp_event *event)
{
    static const uint8_t states[] = {WP_STATE_INTERRUPTIBLE, WP_STATE_INTERRUPTIBLE, WP_STATE_INTERRUPTIBLE,
        WP_STATE_UNINTERRUPTIBLE, WP_STATE_RUNNING, WP_STATE_RUNNING, WP_STATE_STOPPED};
    static const uint32_t syscalls[] = {0, 0, 1, 7, 35, 44, 45, 61, 202, 232};
    struct actor *prev = &m->actors[m->running[cpu]];
    event->stack = any_stack(m);
    event->c = !pick(m, 60) && m->actor_count > 8 ? WP_STATE_DEAD : states[pick(m, sizeof(states))];
    event->d = syscalls[pick(m, 10)];
    if (event->d == 35)
        event->flags |= WP_SWITCH_DELIBERATE;
    if (event->d == 202 ||
        event->d == 232) { /* most never get that far; of the rest some end by what was lost, and must be uncertain */
        event->flags |= WP_SWITCH_TIMED;
        event->a = m->now_ns % 3 ? 1000000000 : 1000 + m->now_ns % 40000;
    }
    if (event->c == WP_STATE_RUNNING)
        event->flags = WP_SWITCH_PREEMPTED;
    prev->where = event->c == WP_STATE_RUNNING ? RUNNABLE : event->c == WP_STATE_DEAD ? NOWHERE : ASLEEP;
    prev->left_ns = m->now_ns;
    if (prev->where == NOWHERE)
        end_of(m, prev, m->now_ns);
}

static void do_switch(struct machine *m, uint32_t cpu)
{
    struct wp_event event = {.kind = WP_EVENT_SWITCH, .cpu = (uint16_t)cpu, .thread = entry_on(m, cpu)};
    uint32_t next = pick(m, 8) ? any_actor(m, RUNNABLE) : 0;
    if (!m->running[cpu] && !next)
        return;
    if (m->running[cpu])
        leave(m, cpu, &event);
    m->running[cpu] = next;
    event.other = m->actors[next].entry;
    if (next)
        m->actors[next].where = ON_CPU;
    happen(m, event);
}

static void do_waking(struct machine *m, uint32_t cpu)
{
    uint32_t target = any_actor(m, ASLEEP);
    if (!target)
        return;
    struct wp_event event = {.kind = WP_EVENT_WAKING,
        .cpu = (uint16_t)cpu,
        .thread = entry_on(m, cpu),
        .other = m->actors[target].entry,
        .c = pick(m, 3) ? WP_CAUSE_TASK : pick(m, WP_CAUSES)};
    if (event.c != WP_CAUSE_TASK)
        event.flags = pick(m, 2) ? WP_CONTEXT_HARDIRQ : WP_CONTEXT_SOFTIRQ;
    switch (event.c) {
    case WP_CAUSE_MESSAGE:
        event.d = 1 + pick(m, PAIRS * 2);
        event.a = pick(m, 4) ? m->sent[(event.d - 1) ^ 1u] : pick(m, 1000);
        break;
    case WP_CAUSE_BLOCK:
        event.d = 8 << 20;
        event.a = m->requests[pick(m, REQUESTS)].key;
        break;
    case WP_CAUSE_IRQ:
    case WP_CAUSE_SOFTIRQ:
        event.d = pick(m, 10);
        break;
    default:
        break;
    }
    m->actors[target].where = RUNNABLE;
    happen(m, event);
}

static void do_fork(struct machine *m, uint32_t cpu)
{
    uint32_t parent = m->running[cpu];
    if (!parent || m->actor_count + 1 >= THREADS)
        return;
    struct actor child = {.where = RUNNABLE,
        .is_base = m->actors[parent].is_base,
        .since_ns = m->now_ns,
        .left_ns = m->now_ns,
        .tid = m->next_tid++};
    bool is_thread = pick(m, 2);
    child.pid = is_thread ? m->actors[parent].pid : child.tid;
    child.entry = add_thread(m, &child, m->actors[parent].entry);
    new_actor(m, &child);
    happen(m,
        (struct wp_event){.kind = WP_EVENT_FORK,
            .cpu = (uint16_t)cpu,
            .thread = m->actors[parent].entry,
            .other = child.entry,
            .flags = is_thread ? WP_FORK_THREAD : 0});
}

static void do_exec(struct machine *m, uint32_t cpu)
{
    struct actor *actor = &m->actors[m->running[cpu]];
    if (!m->running[cpu] || actor->tid != actor->pid)
        return;
    uint32_t before = actor->entry;
    bool was_base = actor->is_base;
    if (!pick(m, 3))
        actor->is_base = !was_base;
    actor->entry = add_thread(m, actor, 0);
    if (was_base && !actor->is_base)
        m->trace->base_ns += m->now_ns - actor->since_ns;
    if (!was_base)
        actor->since_ns = m->now_ns;
    happen(m, (struct wp_event){.kind = WP_EVENT_EXEC, .cpu = (uint16_t)cpu, .thread = before, .other = actor->entry});
}

static void do_rename(struct machine *m, uint32_t cpu)
{
    const struct actor *actor = &m->actors[m->running[cpu]];
    if (m->running[cpu])
        happen(m, (struct wp_event){.kind = WP_EVENT_RENAME, .thread = actor->entry, .c = any_comm(m, actor->is_base)});
}

/* A sample; now and then what an interrupt or the hypervisor took of that CPU or of one that there is not. */
static void do_sample(struct machine *m, uint32_t cpu)
{
    if (!m->running[cpu])
        return;
    struct wp_event event = {
        .kind = WP_EVENT_SAMPLE, .cpu = (uint16_t)cpu, .thread = entry_on(m, cpu), .stack = any_stack(m)};
    if (m->now_ns % 8 == 0)
        event = (struct wp_event){.kind = WP_EVENT_REASON,
            .a = m->now_ns % 100000,
            .b = m->now_ns % 7 ? cpu : CPUS + m->now_ns % 100000,
            .c = WP_REASON_INTERRUPT + m->now_ns / 8 % 4,
            .wait = 1 + (uint32_t)(m->now_ns % m->trace->whole.string_count)};
    happen(m, event);
}

static void do_socket(struct machine *m, uint32_t cpu)
{
    uint32_t end = pick(m, PAIRS * 2);
    if (!m->running[cpu])
        return;
    struct wp_event event = {.thread = entry_on(m, cpu), .d = end + 1};
    if (pick(m, 2)) {
        event.kind = WP_EVENT_SOCK_SEND;
        event.c = 1 + pick(m, 5000);
        event.a = m->sent[end] += event.c;
    } else {
        event.kind = WP_EVENT_SOCK_RECV;
        event.c = m->sent[end ^ 1u] - m->read[end];
        event.a = m->read[end] = m->sent[end ^ 1u];
    }
    happen(m, event);
}

static void do_block(struct machine *m, uint32_t cpu)
{
    struct request *request = &m->requests[pick(m, REQUESTS)];
    struct wp_event event = {.thread = entry_on(m, cpu), .d = 8 << 20, .c = 4096};
    if (request->step == 0)
        request->key = pick(m, 3) ? ++m->next_key : 1 + pick(m, 20); /* keys come back */
    event.b = request->key;
    event.kind = (uint8_t)(WP_EVENT_BLOCK_INSERT + request->step);
    request->step = (request->step + 1) % 3;
    happen(m, event);
}

/* Much at once of what rings hold. */
static void step_of_burst(struct machine *m)
{
    static void (*const doings[])(struct machine *, uint32_t) = {
        do_block, do_block, do_block, do_block, do_block, do_block, do_sample, do_socket, do_switch, do_waking};
    m->now_ns += pick(m, 1000);
    doings[pick(m, sizeof(doings) / sizeof(*doings))](m, pick(m, m->options.cpus));
}

static void step(struct machine *m)
{
    uint32_t burst = m->options.burst_events;
    if (burst && m->trace->whole.event_count / burst % 4 == 3) {
        step_of_burst(m);
        return;
    }
    static void (*const doings[])(struct machine *, uint32_t) = {do_switch, do_switch, do_switch, do_switch, do_waking,
        do_waking, do_waking, do_sample, do_sample, do_socket, do_block, do_block};
    uint32_t cpu = pick(m, m->options.cpus), rare = pick(m, 100);
    m->now_ns += pick(m, 5) ? pick(m, 40000) : 0;
    if (rare < 2)
        do_fork(m, cpu);
    else if (rare == 2)
        do_exec(m, cpu);
    else if (rare == 3)
        do_rename(m, cpu);
    else
        doings[pick(m, sizeof(doings) / sizeof(*doings))](m, cpu);
}

/* What is there at the start. */
static void begin(struct machine *m)
{
    for (uint32_t i = 1; i <= m->options.threads; i++) {
        struct actor actor = {.where = i <= m->options.cpus ? ON_CPU
                : pick(m, 4)                                ? ASLEEP
                                                            : RUNNABLE,
            .is_base = i % 3 == 0,
            .tid = m->next_tid++,
            .since_ns = m->now_ns,
            .left_ns = m->now_ns};
        actor.pid = i % 4 == 0 ? m->actors[i - 1].pid : actor.tid;
        actor.entry = add_thread(m, &actor, 0);
        new_actor(m, &actor);
        struct wp_event event = {.kind = WP_EVENT_STATE, .thread = actor.entry, .c = WP_STATE_RUNNING};
        if (actor.where == ON_CPU) {
            event.cpu = (uint16_t)(i - 1);
            event.flags = WP_STATE_ON_CPU;
            m->running[i - 1] = i;
        } else if (actor.where == ASLEEP) {
            event.c = WP_STATE_INTERRUPTIBLE;
            event.d = 7;
        }
        happen(m, event);
    }
}

void made_trace_init(struct made_trace *trace, const struct made_options *options)
{
    struct machine *m = room_for(1, sizeof(*m));
    struct wp_batch *b = &trace->whole;
    *m = (struct machine){
        .trace = trace, .options = *options, .seed = options->seed, .now_ns = MADE_START_NS, .next_tid = 100};
    *trace = (struct made_trace){.use = room_for(options->events, sizeof(*trace->use))};
    *b = (struct wp_batch){.seq = 1,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .is_last = true,
        .events = room_for(options->events, sizeof(*b->events)),
        .strings = room_for(ENTRIES, sizeof(*b->strings)),
        .threads = room_for(ENTRIES, sizeof(*b->threads)),
        .sockets = room_for(PAIRS * 2, sizeof(*b->sockets)),
        .frames = room_for(ENTRIES, sizeof(*b->frames)),
        .stacks = room_for(ENTRIES, sizeof(*b->stacks)),
        .drops = room_for(options->events, sizeof(*b->drops))};
    make_sockets(m);
    begin(m);
    for (uint32_t tries = options->events; tries && b->event_count < options->events; tries--)
        step(m);
    uint64_t end_ns = b->event_count ? b->events[b->event_count - 1].time_ns : 0;
    for (uint32_t i = 1; i <= m->actor_count; i++) /* a sleep of the command that has not ended is its time, too */
        if (m->actors[i].where != NOWHERE)
            end_of(m, &m->actors[i], end_ns);
    b->watermark_ns = end_ns;
    free(m);
}

void made_trace_fini(struct made_trace *trace)
{
    struct wp_batch *b = &trace->whole;
    for (uint32_t i = 0; i < b->string_count; i++)
        free((char *)(uintptr_t)b->strings[i].data);
    free(b->strings);
    free(b->threads);
    free(b->sockets);
    free(b->frames);
    free(b->stacks);
    free(b->drops);
    free(b->events);
    free(trace->use);
    *trace = (struct made_trace){0};
}

#define CUT(batch, rows, count, first, from, until)                                                                    \
    ((batch).rows += (from), (batch).count = (until) - (from), (batch).first = (from) + 1)

struct wp_batch made_trace_cut(const struct made_trace *trace, uint32_t first, uint32_t end, uint64_t seq)
{
    struct wp_batch b = trace->whole;
    struct made_use from = {0}, until = trace->use[end - 1];
    uint64_t after_ns = first ? b.events[first - 1].time_ns : 0, last_ns = b.events[end - 1].time_ns;
    bool is_last = end == b.event_count;
    if (first)
        from = trace->use[first - 1];
    CUT(b, strings, string_count, first_string, from.strings, until.strings);
    CUT(b, threads, thread_count, first_thread, from.threads, until.threads);
    CUT(b, sockets, socket_count, first_socket, from.sockets, until.sockets);
    CUT(b, frames, frame_count, first_frame, from.frames, until.frames);
    CUT(b, stacks, stack_count, first_stack, from.stacks, until.stacks);
    uint32_t drops = 0, skipped = 0;
    for (uint32_t i = 0; i < b.drop_count; i++) { /* told with the first event after the loss, or with the last batch */
        skipped += first && b.drops[i].to_ns <= after_ns;
        drops += !(first && b.drops[i].to_ns <= after_ns) && (is_last || b.drops[i].to_ns <= last_ns);
    }
    b.drops += skipped;
    b.drop_count = drops;
    b.events += first;
    b.event_count = end - first;
    b.seq = seq;
    b.is_last = is_last;
    b.watermark_ns = last_ns;
    return b;
}
