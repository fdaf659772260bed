/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/connections.h"

#include "aggregator/clock/crossings.h"
#include "aggregator/net/datagrams.h"
#include "aggregator/net/socket_key.h"
#include "common/array.h"
#include "common/intmap.h"

#include <errno.h>
#include <stdlib.h>

#define NOBODY UINT32_MAX
#define AGREEMENT                                                                                                      \
    (1 << 26) /* bytes on the way, or not yet told of: tcp_rmem allows far less than the protocol's 2^30 */
#define ONE_WAY_AGREEMENT (1 << 20) /* when just one direction is there to go by */
#define ONE_WAY_TRIES 32u
#define LAST_TRY 1024u
#define FIRST_TRIES 16u   /* of an unpaired socket: a look for its other end at each event, then at one in so many */
#define LOOKS 64u         /* at candidates with the same key */
#define TCP_ESTABLISHED 1 /* include/net/tcp_states.h */

enum key_space { BY_SOCKET = 1, BY_SEQUENCE, BY_ADDRESS };

/* One end; [0] is unused. */
struct end {
    uint64_t sequence;        /* own initial sequence number | the other's << 32; 0 unknown */
    struct wp_intkey address; /* how it is found by its own address */
    struct wp_intkey mirror;  /* how its other end would be */
    uint32_t host, socket;
    struct link {
        uint32_t next, before;
    } by_sequence, by_address; /* with the same key: the older one, the newer one */
    uint32_t peer;             /* index of the other end, 0 unknown */
    uint32_t sent_end, arrived_end;
    uint32_t crossing;               /* its number in crossings, 0 none */
    uint32_t alone, alone_ambiguous; /* reads that were counted while it had no peer */
    uint64_t alone_bytes, alone_ambiguous_bytes;
    uint16_t tries;
    uint8_t has_sent, has_arrived, is_ambiguous, is_loopback;
};

struct wp_connections {
    struct end *ends;           /* owned */
    uint32_t count, room, free; /* free: list through `peer` */
    struct wp_intmap index;     /* key_space in the top of b */
    struct wp_datagrams datagrams;
    struct host {
        uint32_t clock, group;
    } * hosts; /* owned; group: parent in the union-find forest */
    uint32_t host_count;
    struct wp_traffics traffic;
    struct wp_traffic_totals totals;
    struct wp_crossings crossings;
    wp_connections_watcher *watcher;
    wp_datagram_watcher *datagram_watcher;
    void *watcher_context, *datagram_context;
};

int wp_connections_create(struct wp_connections **out, struct wp_clocks *clocks)
{
    struct wp_connections *connections = calloc(1, sizeof(*connections));
    if (!connections)
        return -ENOMEM;
    connections->count = 1;
    wp_crossings_init(&connections->crossings, clocks);
    *out = connections;
    return 0;
}

void wp_connections_destroy(struct wp_connections *connections)
{
    if (!connections)
        return;
    wp_crossings_fini(&connections->crossings);
    wp_intmap_fini(&connections->index);
    wp_datagrams_fini(&connections->datagrams);
    wp_traffics_fini(&connections->traffic);
    free(connections->ends);
    free(connections->hosts);
    free(connections);
}

/* --- hosts --- */

int wp_connections_host(struct wp_connections *connections, uint32_t host, uint32_t clock)
{
    for (; connections->host_count <= host; connections->host_count++) {
        if (WP_ARRAY_NEXT(connections->hosts, connections->host_count))
            return -ENOMEM;
        connections->hosts[connections->host_count] = (struct host){UINT32_MAX, connections->host_count};
    }
    connections->hosts[host].clock = clock;
    return 0;
}

static uint32_t group_of(struct wp_connections *connections, uint32_t host)
{
    struct host *hosts = connections->hosts;
    while (hosts[host].group != host) {
        hosts[host].group = hosts[hosts[host].group].group;
        host = hosts[host].group;
    }
    return host;
}

static void join_groups(struct wp_connections *connections, uint32_t one, uint32_t other)
{
    connections->hosts[group_of(connections, one)].group = group_of(connections, other);
}

/* A host has left: who is still connected with whom. */
static void regroup(struct wp_connections *connections)
{
    for (uint32_t i = 0; i < connections->host_count; i++)
        connections->hosts[i].group = i;
    for (uint32_t i = 1; i < connections->count; i++)
        if (connections->ends[i].host != NOBODY && connections->ends[i].peer)
            join_groups(connections, connections->ends[i].host, connections->ends[connections->ends[i].peer].host);
}

bool wp_connections_talk(struct wp_connections *connections, uint32_t one, uint32_t other)
{
    return one < connections->host_count && other < connections->host_count &&
        group_of(connections, one) == group_of(connections, other);
}

/* --- the index --- */

static struct wp_intkey in_space(enum key_space space, uint64_t a, uint64_t b)
{
    return (struct wp_intkey){a ^ (uint64_t)space << 61, b};
}

static struct wp_intkey socket_key(uint32_t host, uint32_t socket)
{
    return in_space(BY_SOCKET, (uint64_t)host << 32 | socket, 0);
}

static struct wp_intkey sequence_key(uint64_t sequence)
{
    return in_space(BY_SEQUENCE, 0, sequence);
}

static struct wp_intkey address_key(struct wp_intkey key)
{
    return (struct wp_intkey){key.a >> 3 | (uint64_t)BY_ADDRESS << 61, key.b};
}

static struct end *end_of(const struct wp_connections *connections, uint32_t host, uint32_t socket)
{
    uint32_t index;
    return wp_intmap_get(&connections->index, socket_key(host, socket), &index) ? &connections->ends[index] : NULL;
}

static uint32_t head_of(const struct wp_connections *connections, struct wp_intkey key)
{
    uint32_t index;
    return wp_intmap_get(&connections->index, key, &index) ? index : 0;
}

static struct link *link_of(struct wp_connections *connections, uint32_t index, enum key_space space)
{
    struct end *end = &connections->ends[index];
    return space == BY_SEQUENCE ? &end->by_sequence : &end->by_address;
}

/* Puts end `index` in front of those with that key. -ENOMEM. */
static int chain(struct wp_connections *connections, struct wp_intkey key, uint32_t index, enum key_space space)
{
    uint32_t next = head_of(connections, key);
    int rc = wp_intmap_put(&connections->index, key, index);
    if (rc)
        return rc;
    *link_of(connections, index, space) = (struct link){.next = next};
    if (next)
        link_of(connections, next, space)->before = index;
    return 0;
}

static void unchain(struct wp_connections *connections, struct wp_intkey key, uint32_t index, enum key_space space)
{
    struct link link = *link_of(connections, index, space);
    if (link.next)
        link_of(connections, link.next, space)->before = link.before;
    if (link.before)
        link_of(connections, link.before, space)->next = link.next;
    else if (link.next)
        wp_intmap_put(&connections->index, key, link.next); /* replaces: no memory is wanted */
    else
        wp_intmap_remove(&connections->index, key);
}

/* --- what was read --- */

static void count_read(struct wp_connections *connections, struct end *end, uint32_t bytes)
{
    uint32_t from = end->peer ? connections->ends[end->peer].host : NOBODY;
    struct wp_traffic *traffic =
        end->is_loopback || from == end->host ? NULL : wp_traffics_row(&connections->traffic, end->host, from);
    if (!traffic)
        return;
    ++*(end->peer               ? &connections->totals.matched
            : end->is_ambiguous ? &connections->totals.ambiguous
                                : &connections->totals.unmatched);
    traffic->messages++;
    traffic->bytes += bytes;
    if (end->peer)
        return;
    end->alone++;
    end->alone_bytes += bytes;
    if (!end->is_ambiguous)
        return;
    traffic->ambiguous++;
    traffic->ambiguous_bytes += bytes;
    end->alone_ambiguous++;
    end->alone_ambiguous_bytes += bytes;
}

/* The network lost it, or was too slow: of the one who waits for it at the other end. */
static void count_resent(struct wp_connections *connections, const struct end *end, uint32_t bytes)
{
    uint32_t to = end->peer ? connections->ends[end->peer].host : NOBODY;
    struct wp_traffic *traffic = end->is_loopback || to == end->host ? NULL
        : to == NOBODY ? wp_traffics_row(&connections->traffic, end->host, NOBODY)
                       : wp_traffics_row(&connections->traffic, to, end->host);
    if (!traffic)
        return;
    traffic->resent++;
    traffic->resent_bytes += bytes;
}

/* The other end is known now: what was read before that came from there. */
static void count_again(struct wp_connections *connections, struct end *end)
{
    uint32_t from = connections->ends[end->peer].host;
    struct wp_traffic *nobody = end->alone ? wp_traffics_row(&connections->traffic, end->host, NOBODY) : NULL;
    if (nobody) {
        nobody->messages -= end->alone;
        nobody->bytes -= end->alone_bytes;
        nobody->ambiguous -= end->alone_ambiguous;
        nobody->ambiguous_bytes -= end->alone_ambiguous_bytes;
    }
    struct wp_traffic *traffic =
        nobody && from != end->host ? wp_traffics_row(&connections->traffic, end->host, from) : NULL;
    if (traffic) {
        traffic->messages += end->alone;
        traffic->bytes += end->alone_bytes;
    }
    end->alone = end->alone_ambiguous = 0;
    end->alone_bytes = end->alone_ambiguous_bytes = 0;
}

/* --- pairs --- */

static void pair(struct wp_connections *connections, uint32_t one, uint32_t other)
{
    struct end *a = &connections->ends[one], *b = &connections->ends[other];
    a->peer = other;
    b->peer = one;
    a->is_ambiguous = b->is_ambiguous = 0;
    count_again(connections, a);
    count_again(connections, b);
    if (a->host == b->host)
        return;
    join_groups(connections, a->host, b->host);
    if (a->crossing && b->crossing)
        wp_crossings_join(&connections->crossings, a->crossing, b->crossing);
}

static void part(struct wp_connections *connections, struct end *end)
{
    struct end *other = &connections->ends[end->peer];
    if (!end->peer)
        return;
    if (end->crossing)
        wp_crossings_part(&connections->crossings, end->crossing);
    end->peer = other->peer = 0;
}

/* Both streams' positions are where they can be when these two are one connection. */
static bool agree(const struct end *a, const struct end *b)
{
    if (a->sequence && b->sequence)
        return a->sequence == (b->sequence >> 32 | b->sequence << 32);
    bool forth = a->has_sent && b->has_arrived, back = b->has_sent && a->has_arrived;
    int32_t limit = forth && back ? AGREEMENT : ONE_WAY_AGREEMENT;
    if (!(forth && back) && a->tries < ONE_WAY_TRIES && b->tries < ONE_WAY_TRIES)
        return false; /* too little to go by yet */
    return (forth || back) && (!forth || abs((int32_t)(a->sent_end - b->arrived_end)) < limit) &&
        (!back || abs((int32_t)(b->sent_end - a->arrived_end)) < limit);
}

/* Who comes first is the one: more than one can only be one socket that two sessions of its host tell of. */
static void look_by_sequence(struct wp_connections *connections, uint32_t index)
{
    uint64_t sequence = connections->ends[index].sequence;
    uint32_t found = 0, looks = 0;
    struct wp_intkey key = sequence_key(sequence >> 32 | sequence << 32);
    for (uint32_t at = head_of(connections, key); at && looks < LOOKS;
         at = connections->ends[at].by_sequence.next, looks++) {
        if (at == index || connections->ends[at].peer)
            continue;
        if (found) {
            connections->ends[index].is_ambiguous = 1;
            return;
        }
        found = at;
    }
    if (found)
        pair(connections, index, found);
}

/* Paired by both initial sequence numbers; other pairs are the best that is known. */
static bool is_certain(const struct wp_connections *connections, const struct end *end)
{
    return end->peer && end->sequence && connections->ends[end->peer].sequence;
}

/* Those that could be the other end by addresses and positions; *found is one of them. Counts no further than two. */
static uint32_t candidates(const struct wp_connections *connections, uint32_t index, uint32_t *found)
{
    const struct end *end = &connections->ends[index];
    uint32_t count = 0, looks = 0;
    for (uint32_t at = head_of(connections, address_key(end->mirror)); at && count < 2 && looks < LOOKS;
         at = connections->ends[at].by_address.next, looks++) {
        const struct end *other = &connections->ends[at];
        if (at == index || is_certain(connections, other) || !agree(end, other))
            continue;
        *found = at;
        count++;
    }
    return count;
}

static void doubt(struct wp_connections *connections, uint32_t index)
{
    struct end *end = &connections->ends[index];
    if (end->peer)
        connections->ends[end->peer].is_ambiguous = 1;
    part(connections, end);
    end->is_ambiguous = 1;
}

/* What is paired by its addresses has one candidate, and is that one's only one. A pair of which a second candidate
 * turns up is none any more: which of them was told of first says nothing. */
static void look_by_address(struct wp_connections *connections, uint32_t index)
{
    uint32_t found = 0, back = 0;
    uint32_t count = candidates(connections, index, &found);
    connections->ends[index].is_ambiguous = 0;
    if (!count)
        return;
    if (count == 1 && candidates(connections, found, &back) == 1 && back == index) {
        pair(connections, index, found);
        return;
    }
    connections->ends[index].is_ambiguous = 1;
    doubt(connections, found);
}

/* --- life of an end --- */

static void close_crossing(struct wp_connections *connections, struct end *end)
{
    if (end->crossing)
        wp_crossings_close(&connections->crossings, end->crossing);
    end->crossing = 0;
}

static uint32_t take_end(struct wp_connections *connections)
{
    if (connections->free) {
        uint32_t index = connections->free;
        connections->free = connections->ends[index].peer;
        return index;
    }
    if (WP_ARRAY_FIT(connections->ends, connections->room, connections->count + 1))
        return 0;
    return connections->count++;
}

void wp_connections_add(
    struct wp_connections *connections, uint32_t host, uint32_t socket, const struct wp_socket_entry *entry)
{
    if (!entry->remote_port || host >= connections->host_count || end_of(connections, host, socket))
        return;
    uint32_t index = take_end(connections);
    if (!index)
        return;
    struct end *end = &connections->ends[index];
    *end = (struct end){.host = host,
        .socket = socket,
        .address = wp_socket_key(entry, false, 0),
        .mirror = wp_socket_key(entry, true, 0),
        .is_loopback = wp_socket_is_loopback(entry)};
    if (wp_intmap_put(&connections->index, socket_key(host, socket), index) ||
        chain(connections, address_key(end->address), index, BY_ADDRESS)) {
        wp_intmap_remove(&connections->index, socket_key(host, socket));
        end->peer = connections->free;
        connections->free = index;
    } else if (!end->is_loopback) {
        end->crossing = wp_crossings_open(&connections->crossings, connections->hosts[host].clock);
    }
}

void wp_connections_remove(struct wp_connections *connections, uint32_t host, uint32_t socket)
{
    struct end *end = end_of(connections, host, socket);
    if (!end)
        return;
    uint32_t index = (uint32_t)(end - connections->ends);
    if (connections->watcher)
        connections->watcher(connections->watcher_context, host, socket, NULL, NOBODY);
    part(connections, end);
    close_crossing(connections, end);
    unchain(connections, address_key(end->address), index, BY_ADDRESS);
    if (end->sequence)
        unchain(connections, sequence_key(end->sequence), index, BY_SEQUENCE);
    wp_intmap_remove(&connections->index, socket_key(host, socket));
    *end = (struct end){.host = NOBODY, .peer = connections->free};
    connections->free = index;
}

void wp_connections_remove_host(struct wp_connections *connections, uint32_t host)
{
    for (uint32_t i = 1; i < connections->count; i++)
        if (connections->ends[i].host == host)
            wp_connections_remove(connections, host, connections->ends[i].socket);
    wp_traffics_forget(&connections->traffic, host);
    regroup(connections);
}

/* --- events --- */

static void learn_sequence(struct wp_connections *connections, uint32_t index, uint64_t sequence)
{
    struct end *end = &connections->ends[index];
    if (end->sequence == sequence || !sequence)
        return;
    if (end->sequence)
        unchain(connections, sequence_key(end->sequence), index, BY_SEQUENCE);
    part(connections, end); /* what was thought before rests on less */
    end->sequence = sequence;
    if (chain(connections, sequence_key(sequence), index, BY_SEQUENCE)) {
        end->sequence = 0;
        return;
    }
    look_by_sequence(connections, index);
}

void wp_connections_event(struct wp_connections *connections, uint32_t host, const struct wp_event *event)
{
    struct end *end = end_of(connections, host, event->d);
    if (!end)
        return;
    if (event->kind == WP_EVENT_SOCK_RETRANSMIT) { /* says nothing of when its bytes are where */
        count_resent(connections, end, event->c);
        return;
    }
    uint32_t index = (uint32_t)(end - connections->ends);
    switch (event->kind) {
    case WP_EVENT_SOCK_SEND:
        end->sent_end = (uint32_t)event->a;
        end->has_sent = 1;
        break;
    case WP_EVENT_SOCK_ARRIVE:
        end->arrived_end = (uint32_t)event->a;
        end->has_arrived = 1;
        if (end->crossing)
            wp_crossings_arrived(&connections->crossings, end->crossing, (uint32_t)event->a, event->time_ns);
        break;
    case WP_EVENT_SOCK_LEAVE:
        if (end->crossing)
            wp_crossings_left(&connections->crossings, end->crossing, (uint32_t)event->a, event->time_ns);
        break;
    case WP_EVENT_SOCK_STATE:
        if (event->c == TCP_ESTABLISHED)
            learn_sequence(connections, index, event->a);
        break;
    case WP_EVENT_SOCK_RECV:
        count_read(connections, end, event->c);
        break;
    default:
        break;
    }
    uint32_t peer = end->peer ? connections->ends[end->peer].host : NOBODY;
    if (connections->watcher && !end->is_loopback && peer != host)
        connections->watcher(connections->watcher_context, host, event->d, event, peer);
    if (end->peer || end->is_loopback)
        return;
    end->tries++;
    if (end->tries == LAST_TRY) /* a peer that nobody records */
        close_crossing(connections, end);
    if (end->tries < FIRST_TRIES || end->tries % FIRST_TRIES == 0) {
        end->is_ambiguous = 0;
        if (end->sequence)
            look_by_sequence(connections, index);
        if (!end->peer && !end->is_ambiguous)
            look_by_address(connections, index);
    }
}

/* --- questions --- */

void wp_connections_watch(struct wp_connections *connections, wp_connections_watcher *watcher, void *context)
{
    connections->watcher = watcher;
    connections->watcher_context = context;
}

enum wp_pairing wp_connections_peer(
    const struct wp_connections *connections, uint32_t host, uint32_t socket, struct wp_far_end *peer)
{
    const struct end *end = end_of(connections, host, socket);
    if (!end || !end->peer)
        return end && end->is_ambiguous ? WP_PAIR_AMBIGUOUS : WP_PAIR_NONE;
    const struct end *other = &connections->ends[end->peer];
    *peer = (struct wp_far_end){other->host, other->socket};
    return WP_PAIR_FOUND;
}

void wp_connections_watch_datagrams(struct wp_connections *connections, wp_datagram_watcher *watcher, void *context)
{
    connections->datagram_watcher = watcher;
    connections->datagram_context = context;
}

bool wp_connections_has(const struct wp_connections *connections, uint32_t host, uint32_t socket)
{
    return end_of(connections, host, socket);
}

uint64_t wp_connections_sequence(const struct wp_connections *connections, uint32_t host, uint32_t socket)
{
    const struct end *end = end_of(connections, host, socket);
    return end ? end->sequence : 0;
}

const struct wp_traffic *wp_connections_traffic(const struct wp_connections *connections, uint32_t *count)
{
    *count = connections->traffic.count;
    return connections->traffic.rows;
}

const struct wp_traffic_totals *wp_connections_totals(const struct wp_connections *connections)
{
    return &connections->totals;
}

/* --- datagrams --- */

static void meet(struct wp_connections *connections, uint64_t key, uint32_t host, bool is_sent, uint32_t other)
{
    if (host < connections->host_count && other < connections->host_count)
        join_groups(connections, host, other);
    if (connections->datagram_watcher)
        connections->datagram_watcher(connections->datagram_context, key, host, is_sent, other);
}

void wp_connections_datagram(struct wp_connections *connections, uint64_t key, uint32_t host)
{
    meet(connections, key, host, true, wp_datagrams_sent(&connections->datagrams, key, host));
}

void wp_connections_datagram_taken(struct wp_connections *connections, uint64_t key, uint32_t host)
{
    meet(connections, key, host, false, wp_datagrams_taken(&connections->datagrams, key, host));
}

bool wp_connections_datagram_host(const struct wp_connections *connections, uint64_t key, uint32_t *host)
{
    *host = wp_datagrams_sender(&connections->datagrams, key);
    return *host != WP_DATAGRAM_NOBODY;
}
