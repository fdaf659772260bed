/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/aggregator/made_connections.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define SECOND 1000000000ull
#define BEGIN_NS (10 * SECOND)
#define BATCH_NS 100000000u /* a host tells so often */
#define LATE_NS 800000000u  /* and its batches are at most so long on their way */
#define NETWORK 6u          /* hosts with addresses 1 ... 6; the next six have the same */
#define LOST_PER_MILLE 2u
#define NOT_RECORDED UINT32_MAX
#define TCP_ESTABLISHED 1

struct maker {
    struct made_connections *made;
    uint64_t seed, length_ns;
    uint32_t *sockets; /* by host: ids given so far */
    uint64_t *salt;    /* by host: how late its batches are */
};

/* One connection while it is made. */
struct call {
    uint32_t host[2], end[2]; /* 0 the client's */
    uint32_t position[2];     /* sent by that side so far */
    uint64_t now_ns;
    bool is_one_way;
};

static uint64_t any(struct maker *m, uint64_t below)
{
    uint64_t z = m->seed += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % below;
}

static void *grown(void *rows, uint32_t *room, uint32_t count, size_t size)
{
    if (count < *room)
        return rows;
    *room = *room ? *room * 2 : 1024;
    rows = realloc(rows, *room * size);
    if (!rows)
        abort();
    return rows;
}

/* When what happens on that host at that time is heard of: the batches of one host come in order. */
static uint64_t heard(const struct maker *m, uint32_t host, uint64_t time_ns)
{
    uint64_t batch = time_ns / BATCH_NS, latest = 0;
    for (uint64_t i = batch > LATE_NS / BATCH_NS ? batch - LATE_NS / BATCH_NS : 0; i <= batch; i++) {
        uint64_t late = (i * 0x9e3779b97f4a7c15u ^ m->salt[host]) * 0x94d049bb133111ebu >> 33;
        uint64_t at = (i + 1) * BATCH_NS + late % LATE_NS;
        latest = at > latest ? at : latest;
    }
    return latest;
}

static struct made_step *step(struct maker *m, uint32_t end, enum made_step_kind kind, uint64_t time_ns)
{
    struct made_connections *made = m->made;
    made->steps = grown(made->steps, &made->step_room, made->step_count, sizeof(*made->steps));
    struct made_step *added = &made->steps[made->step_count];
    *added = (struct made_step){
        .heard_ns = heard(m, made->ends[end].host, time_ns), .order = made->step_count, .end = end, .kind = kind};
    made->step_count++;
    return added;
}

static void happen(struct maker *m, struct call *call, unsigned side, uint64_t time_ns, struct wp_event event)
{
    uint32_t end = call->end[side];
    if (end == NOT_RECORDED || any(m, 1000) < LOST_PER_MILLE)
        return;
    event.d = m->made->ends[end].socket;
    event.time_ns = (uint64_t)((int64_t)time_ns + m->made->offset_ns[call->host[side]]);
    step(m, end, MADE_EVENT, time_ns)->event = event;
}

/* --- what is on the way --- */

/* What the other side receives of the stream up to `end`: pieces put together or not, read at once or in parts. */
static void deliver(struct maker *m, struct call *call, unsigned from, uint32_t bytes)
{
    uint32_t start = call->position[from], end = start + bytes, at = start;
    uint64_t time_ns = call->now_ns + 50000 + any(m, 300000);
    while (at != end) {
        uint32_t left = end - at, piece = any(m, 3) ? left : 1 + (uint32_t)any(m, left);
        at += piece;
        happen(m, call, !from, time_ns, (struct wp_event){.kind = WP_EVENT_SOCK_ARRIVE, .a = at, .c = piece});
        if (!any(m, 50)) /* sent again though it had arrived: told as an arrival, up to no farther */
            happen(m, call, !from, time_ns + 1, (struct wp_event){.kind = WP_EVENT_SOCK_ARRIVE, .a = at, .c = piece});
        if (any(m, 2)) {
            uint32_t part = 1 + (uint32_t)any(m, piece);
            happen(m, call, !from, time_ns + 1000,
                (struct wp_event){.kind = WP_EVENT_SOCK_RECV, .a = at - piece + part, .c = part});
        }
        time_ns += any(m, 20000);
    }
    happen(m, call, !from, time_ns + 2000, (struct wp_event){.kind = WP_EVENT_SOCK_RECV, .a = end, .c = bytes});
    call->position[from] = end;
    call->now_ns = time_ns + 10000 + any(m, 2000000);
}

static void say(struct maker *m, struct call *call, unsigned side)
{
    uint32_t bytes = 1 + (uint32_t)any(m, any(m, 10) ? 2000 : 200000), end = call->position[side] + bytes;
    uint64_t left_ns = call->now_ns;
    if (!any(m, 20)) /* lost on its way and sent again much later; it is told of the first time alone */
        call->now_ns += 200000000;
    happen(m, call, side, left_ns, (struct wp_event){.kind = WP_EVENT_SOCK_LEAVE, .a = end});
    happen(m, call, side, left_ns + 5000, (struct wp_event){.kind = WP_EVENT_SOCK_SEND, .a = end, .c = bytes});
    deliver(m, call, side, bytes);
}

/* --- ends --- */

static void set_address(uint8_t *address, uint32_t host)
{
    uint8_t bytes[4] = {10, 0, 0, (uint8_t)(1 + host % NETWORK)};
    memcpy(address, bytes, 4);
}

static uint32_t add_end(struct maker *m, uint32_t host, uint64_t time_ns)
{
    struct made_connections *made = m->made;
    made->ends = grown(made->ends, &made->end_room, made->end_count, sizeof(*made->ends));
    uint32_t end = made->end_count++;
    made->ends[end] = (struct made_end){.host = host,
        .socket = ++m->sockets[host],
        .peer = NOT_RECORDED,
        .entry = {.family = AF_INET, .protocol = IPPROTO_TCP, .netns = 1}};
    step(m, end, MADE_ADD, time_ns);
    return end;
}

static void write_addresses(struct maker *m, const struct call *call, uint16_t port, bool is_translated)
{
    for (unsigned side = 0; side < 2; side++) {
        if (call->end[side] == NOT_RECORDED)
            continue;
        struct wp_socket_entry *entry = &m->made->ends[call->end[side]].entry;
        set_address(entry->local, call->host[side]);
        set_address(entry->remote, call->host[!side]);
        entry->local_port = side ? 80 : port;
        entry->remote_port = side ? port : 80;
        if (is_translated && !side)
            memcpy(entry->remote, (uint8_t[4]){10, 96, 0, 10}, 4); /* a service address in front of the server */
        if (is_translated && side && any(m, 2)) {
            memcpy(entry->remote, (uint8_t[4]){10, 0, 0, 254}, 4); /* and a gateway before the client */
            entry->remote_port = (uint16_t)(1024 + any(m, 60000));
        }
    }
}

static void establish(struct maker *m, struct call *call)
{
    for (unsigned side = 0; side < 2; side++)
        happen(m, call, side, call->now_ns + side * 100000,
            (struct wp_event){.kind = WP_EVENT_SOCK_STATE,
                .c = TCP_ESTABLISHED,
                .b = 2,
                .a = call->position[side] | (uint64_t)call->position[!side] << 32});
    call->now_ns += 200000;
}

/* One connection from begin to end; returns when it had ended. */
static uint64_t make_call(struct maker *m, const uint32_t host[2], uint16_t port, uint64_t begin_ns, bool is_older)
{
    struct call call = {.host = {host[0], host[1]}, .now_ns = begin_ns, .is_one_way = !any(m, 20)};
    bool is_translated = !any(m, 4);
    unsigned missing = any(m, 5) ? 2 : (unsigned)any(m, 2); /* of some only one end is recorded */
    for (unsigned side = 0; side < 2; side++) {
        call.end[side] = side == missing ? NOT_RECORDED : add_end(m, host[side], begin_ns);
        call.position[side] = (uint32_t)any(m, 1ull << 32);
    }
    write_addresses(m, &call, port, is_translated);
    if (missing == 2) {
        for (unsigned side = 0; side < 2; side++) {
            m->made->ends[call.end[side]].peer = call.end[!side];
            m->made->ends[call.end[side]].is_matchable = !(is_translated && is_older);
        }
    }
    if (!is_older)
        establish(m, &call);
    for (uint64_t count = is_older ? 60 + any(m, 60) : 1 + any(m, 20); count; count--) {
        say(m, &call, 0);
        if (!call.is_one_way)
            say(m, &call, 1);
    }
    for (unsigned side = 0; side < 2; side++) {
        if (call.end[side] == NOT_RECORDED)
            continue;
        step(m, call.end[side], MADE_ASK, call.now_ns + 2 * SECOND);
        step(m, call.end[side], MADE_REMOVE, call.now_ns + 10 * SECOND + any(m, SECOND));
    }
    return call.now_ns;
}

static int compare(const void *left, const void *right)
{
    const struct made_step *a = left, *b = right;
    if (a->heard_ns != b->heard_ns)
        return a->heard_ns < b->heard_ns ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void made_connections_init(
    struct made_connections *made, uint64_t seed, uint32_t hosts, uint32_t connections, uint32_t seconds)
{
    struct maker m = {.made = made, .seed = seed, .length_ns = seconds * SECOND};
    *made = (struct made_connections){.host_count = hosts, .offset_ns = calloc(hosts, sizeof(*made->offset_ns))};
    m.sockets = calloc(hosts, sizeof(*m.sockets));
    m.salt = calloc(hosts, sizeof(*m.salt));
    if (!m.sockets || !m.salt || !made->offset_ns)
        abort();
    for (uint32_t i = 0; i < hosts; i++) {
        made->offset_ns[i] = (int64_t)any(&m, 7200 * SECOND);
        m.salt[i] = any(&m, UINT64_MAX);
    }
    for (uint32_t i = 0; i < connections;) {
        uint32_t network = (uint32_t)any(&m, hosts / NETWORK) * NETWORK; /* each is a world of its own */
        uint32_t client = (uint32_t)any(&m, NETWORK), server = (client + 1 + (uint32_t)any(&m, NETWORK - 1)) % NETWORK;
        uint32_t host[2] = {network + client, network + server};
        uint16_t port = (uint16_t)(32768 + any(&m, 28000));
        bool is_older = !any(&m, 4);
        uint64_t at_ns = is_older ? BEGIN_NS + any(&m, SECOND) : BEGIN_NS + any(&m, m.length_ns);
        do { /* the same ports again, soon after */
            at_ns = make_call(&m, host, port, at_ns, is_older) + 1000000 + any(&m, SECOND);
            is_older = false;
            i++;
        } while (!any(&m, 8));
    }
    qsort(made->steps, made->step_count, sizeof(*made->steps), compare);
    free(m.sockets);
    free(m.salt);
}

void made_connections_fini(struct made_connections *made)
{
    free(made->ends);
    free(made->steps);
    free(made->offset_ns);
    *made = (struct made_connections){0};
}
