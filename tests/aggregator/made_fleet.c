/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aggregator/made_fleet.h"

#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define HOSTS MADE_FLEET_HOSTS
#define THREADS 6u /* of a host */
#define CPUS 2u
#define LINKS 12u /* connections */
#define FLYING 256u
#define ENTRIES 64u
#define ANY_SOCKET UINT32_MAX

enum where { ASLEEP, RUNNABLE, ON_CPU };
enum wait { FOR_TASK, FOR_TIMER, FOR_MESSAGE };

struct actor {
    enum where where;
    enum wait wait;
    uint32_t socket;   /* FOR_MESSAGE: which; ANY_SOCKET: poll */
    uint64_t until_ns; /* FOR_TIMER */
};

struct link { /* [0] and [1] are its two ends */
    uint32_t host[2], actor[2], socket[2];
    uint32_t sent[2], arrived[2], read[2];
    bool is_datagram;
};

struct packet {
    uint64_t due_ns, key;
    uint32_t link, from, end, bytes; /* due 0: free */
};

struct machine {
    struct made_fleet *fleet;
    struct made_fleet_options options;
    uint64_t seed, now_ns, next_key;
    struct actor actors[HOSTS][THREADS + 1]; /* [0] is idle; dictionary id = index */
    uint32_t running[HOSTS][CPUS];
    struct link links[LINKS];
    struct packet flying[FLYING];
};

static uint32_t pick(struct machine *m, uint32_t below)
{
    return (uint32_t)(made_random(&m->seed) % below);
}

uint64_t made_fleet_reading(const struct made_fleet *fleet, uint32_t host, uint64_t true_ns)
{
    return (uint64_t)((int64_t)true_ns + fleet->offset_ns[host] + (int64_t)((double)true_ns * fleet->drift[host]));
}

static void happen(struct machine *m, uint32_t host, struct wp_event event)
{
    struct made_trace *trace = &m->fleet->hosts[host];
    struct wp_batch *b = &trace->whole;
    if (b->event_count == m->options.events)
        return;
    event.time_ns = made_fleet_reading(m->fleet, host, m->now_ns);
    trace->use[b->event_count] =
        (struct made_use){b->string_count, b->thread_count, b->socket_count, b->frame_count, b->stack_count};
    m->fleet->true_ns[host][b->event_count] = m->now_ns;
    b->events[b->event_count++] = event;
}

/* --- messages --- */

static void wake(struct machine *m, uint32_t host, uint32_t actor, uint32_t by, struct wp_event event)
{
    event.kind = WP_EVENT_WAKING;
    event.thread = by;
    event.other = actor;
    if (event.c != WP_CAUSE_TASK)
        event.flags = WP_CONTEXT_SOFTIRQ;
    m->actors[host][actor].where = RUNNABLE;
    happen(m, host, event);
}

static void arrive(struct machine *m, struct packet *packet)
{
    struct link *link = &m->links[packet->link];
    uint32_t to = !packet->from, host = link->host[to], socket = link->socket[to], current = m->running[host][0];
    struct actor *actor = &m->actors[host][link->actor[to]];
    uint64_t position = link->is_datagram ? packet->key : packet->end;
    link->arrived[to] = packet->end;
    packet->due_ns = 0;
    happen(m, host,
        (struct wp_event){.kind = WP_EVENT_SOCK_ARRIVE,
            .thread = current,
            .d = socket,
            .a = position,
            .c = packet->bytes,
            .flags = link->is_datagram ? WP_SOCK_DATAGRAM : 0});
    if (actor->where == ASLEEP && actor->wait == FOR_MESSAGE &&
        (actor->socket == socket || actor->socket == ANY_SOCKET))
        wake(m, host, link->actor[to], current, (struct wp_event){.c = WP_CAUSE_MESSAGE, .d = socket, .a = position});
}

/* Packets of one direction stay in order. */
static uint64_t when_due(struct machine *m, uint32_t link, uint32_t from)
{
    uint64_t due_ns = m->now_ns + 20000 + pick(m, 200000);
    for (uint32_t i = 0; i < FLYING; i++)
        if (m->flying[i].due_ns >= due_ns && m->flying[i].link == link && m->flying[i].from == from)
            due_ns = m->flying[i].due_ns + 1;
    return due_ns;
}

static void send_on(struct machine *m, uint32_t host, uint32_t actor, uint32_t index, uint32_t end)
{
    struct link *link = &m->links[index];
    struct packet *packet = NULL;
    for (uint32_t i = 0; i < FLYING && !packet; i++)
        packet = m->flying[i].due_ns ? NULL : &m->flying[i];
    if (!packet)
        return;
    uint32_t bytes = 1 + pick(m, 3000);
    link->sent[end] += bytes;
    *packet = (struct packet){.due_ns = when_due(m, index, end),
        .key = m->next_key++,
        .link = index,
        .from = end,
        .end = link->sent[end],
        .bytes = bytes};
    if (m->options.tells_leavings && !link->is_datagram)
        happen(m, host,
            (struct wp_event){.kind = WP_EVENT_SOCK_LEAVE, .thread = actor, .d = link->socket[end], .a = packet->end});
    happen(m, host,
        (struct wp_event){.kind = WP_EVENT_SOCK_SEND,
            .thread = actor,
            .d = link->socket[end],
            .c = bytes,
            .a = link->is_datagram ? packet->key : packet->end,
            .flags = link->is_datagram ? WP_SOCK_DATAGRAM : 0});
}

/* One of the actor's links and which end of it is its own; false: none. */
static bool any_link(struct machine *m, uint32_t host, uint32_t actor, uint32_t *index, uint32_t *end)
{
    uint32_t first = pick(m, LINKS * 2);
    for (uint32_t i = 0; i < LINKS * 2; i++) {
        *index = (first + i) % (LINKS * 2) / 2;
        *end = (first + i) % 2;
        if (m->links[*index].host[*end] == host && m->links[*index].actor[*end] == actor)
            return true;
    }
    return false;
}

/* --- threads --- */

static void leave_cpu(struct machine *m, uint32_t host, uint32_t cpu, struct wp_event event)
{
    uint32_t actor = m->running[host][cpu];
    event.kind = WP_EVENT_SWITCH;
    event.cpu = (uint16_t)cpu;
    event.thread = actor;
    event.stack = pick(m, 3);
    m->actors[host][actor].where = event.c == WP_STATE_RUNNING ? RUNNABLE : ASLEEP;
    m->running[host][cpu] = 0;
    happen(m, host, event);
}

static void enter_cpu(struct machine *m, uint32_t host, uint32_t cpu)
{
    uint32_t first = pick(m, THREADS);
    for (uint32_t i = 0; i < THREADS; i++) {
        uint32_t actor = 1 + (first + i) % THREADS;
        if (m->actors[host][actor].where != RUNNABLE)
            continue;
        m->actors[host][actor].where = ON_CPU;
        m->running[host][cpu] = actor;
        happen(m, host, (struct wp_event){.kind = WP_EVENT_SWITCH, .cpu = (uint16_t)cpu, .other = actor});
        return;
    }
}

static void fall_asleep(struct machine *m, uint32_t host, uint32_t cpu, enum wait wait)
{
    uint32_t number = m->running[host][cpu], index, end;
    struct actor *actor = &m->actors[host][number];
    struct wp_event event = {.c = WP_STATE_INTERRUPTIBLE, .d = 203}; /* futex + 1 */
    if (wait == FOR_MESSAGE && !any_link(m, host, number, &index, &end))
        wait = FOR_TIMER;
    actor->wait = wait;
    if (wait == FOR_TIMER) {
        actor->until_ns = m->now_ns + pick(m, 800000);
        event.d = 36; /* nanosleep + 1 */
        event.flags = WP_SWITCH_DELIBERATE;
    } else if (wait == FOR_MESSAGE) {
        bool polls = !pick(m, 2);
        if (!polls && m->links[index].arrived[end] != m->links[index].read[end])
            return; /* there is something to read */
        actor->socket = polls ? ANY_SOCKET : m->links[index].socket[end];
        event.d = polls ? 8 : 46; /* poll, recvfrom + 1 */
    }
    leave_cpu(m, host, cpu, event);
}

static void do_something(struct machine *m, uint32_t host, uint32_t cpu)
{
    uint32_t actor = m->running[host][cpu], index, end;
    switch (pick(m, 10)) {
    case 0:
    case 1:
    case 2:
        if (any_link(m, host, actor, &index, &end))
            send_on(m, host, actor, index, end);
        break;
    case 3:
        if (any_link(m, host, actor, &index, &end) && m->links[index].arrived[end] != m->links[index].read[end]) {
            struct link *link = &m->links[index];
            uint32_t bytes = link->arrived[end] - link->read[end];
            link->read[end] = link->arrived[end];
            if (!link->is_datagram)
                happen(m, host,
                    (struct wp_event){.kind = WP_EVENT_SOCK_RECV,
                        .thread = actor,
                        .d = link->socket[end],
                        .a = link->read[end],
                        .c = bytes});
        }
        break;
    case 4:
    case 5:
        fall_asleep(m, host, cpu, FOR_MESSAGE);
        break;
    case 6:
        fall_asleep(m, host, cpu, pick(m, 2) ? FOR_TIMER : FOR_TASK);
        break;
    case 7:
        leave_cpu(m, host, cpu, (struct wp_event){.c = WP_STATE_RUNNING, .flags = WP_SWITCH_PREEMPTED});
        break;
    case 8:
        for (uint32_t i = 1; i <= THREADS; i++)
            if (m->actors[host][i].where == ASLEEP && m->actors[host][i].wait == FOR_TASK) {
                wake(m, host, i, actor, (struct wp_event){.cpu = (uint16_t)cpu, .c = WP_CAUSE_TASK});
                break;
            }
        break;
    default:
        happen(m, host,
            (struct wp_event){.kind = WP_EVENT_SAMPLE, .cpu = (uint16_t)cpu, .thread = actor, .stack = pick(m, 3)});
    }
}

static void step(struct machine *m)
{
    m->now_ns += 1 + pick(m, 12000);
    for (uint32_t i = 0; i < FLYING; i++)
        if (m->flying[i].due_ns && m->flying[i].due_ns <= m->now_ns)
            arrive(m, &m->flying[i]);
    for (uint32_t host = 0; host < HOSTS; host++)
        for (uint32_t i = 1; i <= THREADS; i++) {
            struct actor *actor = &m->actors[host][i];
            bool is_due = actor->wait == FOR_TIMER ? actor->until_ns <= m->now_ns : !pick(m, 3000); /* else a timeout */
            if (actor->where == ASLEEP && is_due)
                wake(m, host, i, m->running[host][0], (struct wp_event){.c = WP_CAUSE_TIMER});
        }
    uint32_t host = pick(m, HOSTS), cpu = pick(m, CPUS);
    if (m->running[host][cpu])
        do_something(m, host, cpu);
    else
        enter_cpu(m, host, cpu);
}

/* --- the beginning --- */

static void *room_for(size_t count, size_t size)
{
    void *rows = calloc(count, size);
    if (!rows)
        abort();
    return rows;
}

static void add_string(struct wp_batch *b, const char *text)
{
    b->strings[b->string_count++] = (struct wp_bytes){strdup(text), (uint32_t)strlen(text)};
}

static void begin_host(struct machine *m, uint32_t host)
{
    struct made_trace *trace = &m->fleet->hosts[host];
    struct wp_batch *b = &trace->whole;
    bool has_base = !host || m->options.base_everywhere;
    *trace = (struct made_trace){.use = room_for(m->options.events, sizeof(*trace->use))};
    *b = (struct wp_batch){.seq = 1,
        .first_string = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .is_last = true,
        .events = room_for(m->options.events, sizeof(*b->events)),
        .strings = room_for(ENTRIES, sizeof(*b->strings)),
        .threads = room_for(ENTRIES, sizeof(*b->threads)),
        .sockets = room_for(ENTRIES, sizeof(*b->sockets)),
        .frames = room_for(ENTRIES, sizeof(*b->frames)),
        .stacks = room_for(ENTRIES, sizeof(*b->stacks)),
        .drops = room_for(1, sizeof(*b->drops))};
    m->fleet->true_ns[host] = room_for(m->options.events, sizeof(uint64_t));
    for (uint32_t i = 1; i <= THREADS; i++) {
        bool is_base = has_base && i <= 2;
        char name[16];
        snprintf(name, sizeof(name), "%c%u", is_base ? 'b' : 'o', i);
        add_string(b, name);
        b->threads[b->thread_count++] = (struct wp_thread_entry){
            .tid = 100 + i, .pid = 100 + i, .comm = i, .flags = is_base ? WP_THREAD_COMMAND : 0};
    }
    add_string(b, "work");
    add_string(b, "wait");
    for (uint32_t i = 0; i < 2; i++) {
        b->frames[b->frame_count++] = (struct wp_frame_entry){.function = THREADS + 1 + i, .offset = i + 1};
        b->stacks[b->stack_count++] = (struct wp_stack_entry){0, i + 1};
    }
}

static void begin_link(struct machine *m, uint32_t index)
{
    struct link *link = &m->links[index];
    *link = (struct link){.is_datagram = index % 4 == 3};
    link->host[0] = pick(m, HOSTS);
    link->host[1] = (link->host[0] + 1 + pick(m, HOSTS - 1)) % HOSTS;
    for (uint32_t end = 0; end < 2; end++) {
        struct wp_batch *b = &m->fleet->hosts[link->host[end]].whole;
        struct wp_socket_entry *entry = &b->sockets[b->socket_count++];
        link->actor[end] = 1 + pick(m, THREADS);
        link->socket[end] = b->socket_count;
        *entry = (struct wp_socket_entry){.family = AF_INET,
            .protocol = link->is_datagram ? IPPROTO_UDP : IPPROTO_TCP,
            .netns = 1,
            .local = {10, 0, 0, (uint8_t)(1 + link->host[end])},
            .remote = {10, 0, 0, (uint8_t)(1 + link->host[!end])},
            .local_port = (uint16_t)(1000 + index * 2 + end),
            .remote_port = (uint16_t)(1000 + index * 2 + !end)};
        link->sent[end] = (uint32_t)made_random(&m->seed); /* sequence numbers wrap */
    }
    for (uint32_t end = 0; end < 2; end++) {
        link->arrived[end] = link->read[end] = link->sent[!end];
        if (!link->is_datagram)
            happen(m, link->host[end],
                (struct wp_event){.kind = WP_EVENT_SOCK_STATE,
                    .d = link->socket[end],
                    .c = 1,
                    .b = end ? 2 : 3,
                    .a = link->sent[end] | (uint64_t)link->sent[!end] << 32});
    }
}

static void begin_actor(struct machine *m, uint32_t host, uint32_t number)
{
    struct wp_event event = {.kind = WP_EVENT_STATE, .thread = number, .c = WP_STATE_RUNNING};
    m->actors[host][number].where = RUNNABLE;
    if (number <= CPUS) {
        m->actors[host][number].where = ON_CPU;
        m->running[host][number - 1] = number;
        event.flags = WP_STATE_ON_CPU;
        event.cpu = (uint16_t)(number - 1);
    }
    happen(m, host, event);
}

void made_fleet_init(struct made_fleet *fleet, const struct made_fleet_options *options)
{
    struct machine *m = room_for(1, sizeof(*m));
    *fleet = (struct made_fleet){0};
    *m = (struct machine){
        .fleet = fleet, .options = *options, .seed = options->seed, .now_ns = MADE_START_NS, .next_key = 1000};
    for (uint32_t host = 0; host < HOSTS; host++) {
        fleet->offset_ns[host] = (int64_t)(made_random(&m->seed) % 3600000000000u);
        fleet->drift[host] = (pick(m, 200) - 100.0) / 1e6;
        begin_host(m, host);
    }
    for (uint32_t i = 0; i < LINKS; i++)
        begin_link(m, i);
    for (uint32_t host = 0; host < HOSTS; host++)
        for (uint32_t i = 1; i <= THREADS; i++)
            begin_actor(m, host, i);
    bool is_full = false;
    while (!is_full) { /* all end together */
        step(m);
        for (uint32_t host = 0; host < HOSTS; host++)
            is_full |= fleet->hosts[host].whole.event_count == options->events;
    }
    for (uint32_t host = 0; host < HOSTS; host++)
        fleet->hosts[host].whole.watermark_ns = made_fleet_reading(fleet, host, m->now_ns);
    fleet->end_ns = m->now_ns;
    free(m);
}

void made_fleet_fini(struct made_fleet *fleet)
{
    for (uint32_t host = 0; host < HOSTS; host++) {
        made_trace_fini(&fleet->hosts[host]);
        free(fleet->true_ns[host]);
    }
    *fleet = (struct made_fleet){0};
}
