/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/connections.h"

#include "aggregator/clock/clock_constraints.h"
#include "aggregator/net/datagrams.h"
#include "aggregator/net/ends.h"
#include "aggregator/net/host_groups.h"
#include "aggregator/net/socket_key.h"
#include "common/array.h"
#include "common/idtable.h"
#include "common/intmap.h"

#include <errno.h>
#include <stdlib.h>

#define NOBODY UINT32_MAX
#define AGREEMENT                                                                                                      \
    (1 << 26) /* bytes on the way, or not yet reported: tcp_rmem allows far less than the protocol's 2^30 */
#define ONE_WAY_AGREEMENT (1 << 20) /* when just one direction is there to go by */
#define ONE_WAY_TRIES 32u
#define LAST_TRY 1024u
#define FIRST_TRIES 16u   /* of an unpaired socket: a look for its other end at each event, then at one in so many */
#define LOOKS 64u         /* at candidates with the same key */
#define TCP_ESTABLISHED 1 /* include/net/tcp_states.h */
#define TCP_CLOSE 7
#define TABLE_SOCKETS (1u << 25) /* a session's ids are dense and fewer: its dictionary is bounded */

struct wp_connections {
    struct wp_ends ends;
    struct wp_datagrams datagrams;
    struct host {
        struct wp_idtable ends; /* number of the end, by socket */
        uint32_t clock, end_count;
    } * hosts; /* owned */
    uint32_t host_count;
    struct wp_host_groups groups;
    struct wp_traffics traffic;
    struct wp_traffic_totals totals;
    struct wp_clock_constraints constraints;
    wp_connections_watcher *watcher;
    wp_datagram_watcher *datagram_watcher;
    void *watcher_context, *datagram_context;
};

int wp_connections_create(struct wp_connections **out, struct wp_clocks *clocks)
{
    struct wp_connections *connections = calloc(1, sizeof(*connections));
    if (!connections)
        return -ENOMEM;
    wp_ends_init(&connections->ends);
    wp_clock_constraints_init(&connections->constraints, clocks);
    *out = connections;
    return 0;
}

void wp_connections_destroy(struct wp_connections *connections)
{
    if (!connections)
        return;
    wp_clock_constraints_fini(&connections->constraints);
    wp_ends_fini(&connections->ends);
    wp_datagrams_fini(&connections->datagrams);
    wp_traffics_fini(&connections->traffic);
    for (uint32_t i = 0; i < connections->host_count; i++)
        wp_idtable_fini(&connections->hosts[i].ends);
    wp_host_groups_fini(&connections->groups);
    free(connections->hosts);
    free(connections);
}

/* --- ends --- */

/* 0: there is none. */
static uint32_t index_of(const struct wp_connections *connections, uint32_t host, uint32_t socket)
{
    const struct wp_idtable *table = host < connections->host_count ? &connections->hosts[host].ends : NULL;
    return table && wp_idtable_has(table, socket) ? ((uint32_t *)table->items)[socket] : 0;
}

static struct wp_end *end_at(const struct wp_connections *connections, uint32_t index)
{
    return &connections->ends.rows[index];
}

static struct wp_end *end_of(const struct wp_connections *connections, uint32_t host, uint32_t socket)
{
    uint32_t index = index_of(connections, host, socket);
    return index ? end_at(connections, index) : NULL;
}

/* --- hosts --- */

int wp_connections_host(struct wp_connections *connections, uint32_t host, uint32_t clock)
{
    for (; connections->host_count <= host; connections->host_count++) {
        if (wp_host_groups_grow(&connections->groups, connections->host_count + 1) ||
            WP_ARRAY_NEXT(connections->hosts, connections->host_count))
            return -ENOMEM;
        connections->hosts[connections->host_count] = (struct host){.clock = UINT32_MAX};
        wp_idtable_init(&connections->hosts[connections->host_count].ends, sizeof(uint32_t));
    }
    connections->hosts[host].clock = clock;
    return 0;
}

/* A host has left: who is still connected with whom. */
static void regroup(struct wp_connections *connections)
{
    wp_host_groups_part(&connections->groups);
    for (uint32_t i = 1; i < connections->ends.count; i++) {
        const struct wp_end *end = end_at(connections, i);
        if (end->host != NOBODY && end->peer)
            wp_host_groups_join(&connections->groups, end->host, end_at(connections, end->peer)->host);
    }
}

bool wp_connections_talk(struct wp_connections *connections, uint32_t one, uint32_t other)
{
    return wp_host_groups_are_one(&connections->groups, one, other);
}

/* --- what was read --- */

static void count_read(struct wp_connections *connections, struct wp_end *end, uint32_t bytes)
{
    uint32_t from = end->peer ? end_at(connections, end->peer)->host : NOBODY;
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
    end->alone.messages++;
    end->alone.bytes += bytes;
    if (!end->is_ambiguous)
        return;
    traffic->ambiguous++;
    traffic->ambiguous_bytes += bytes;
    end->alone.ambiguous++;
    end->alone.ambiguous_bytes += bytes;
}

/* The network lost it, or was too slow: of the one who waits for it at the other end. */
static void count_resent(struct wp_connections *connections, const struct wp_end *end, uint32_t bytes)
{
    uint32_t to = end->peer ? end_at(connections, end->peer)->host : NOBODY;
    struct wp_traffic *traffic = end->is_loopback || to == end->host ? NULL
        : to == NOBODY ? wp_traffics_row(&connections->traffic, end->host, NOBODY)
                       : wp_traffics_row(&connections->traffic, to, end->host);
    if (!traffic)
        return;
    traffic->resent++;
    traffic->resent_bytes += bytes;
}

/* The other end is known now: what was read before that came from there. */
static void count_again(struct wp_connections *connections, struct wp_end *end)
{
    wp_traffics_move(&connections->traffic, end->host, end_at(connections, end->peer)->host, &end->alone);
}

/* --- pairs --- */

static void pair(struct wp_connections *connections, uint32_t one, uint32_t other)
{
    struct wp_end *a = end_at(connections, one), *b = end_at(connections, other);
    a->peer = other;
    b->peer = one;
    a->is_ambiguous = b->is_ambiguous = false;
    count_again(connections, a);
    count_again(connections, b);
    if (a->host == b->host)
        return;
    wp_host_groups_join(&connections->groups, a->host, b->host);
    if (a->constraint && b->constraint)
        wp_clock_constraints_join(&connections->constraints, a->constraint, b->constraint);
}

static void part(struct wp_connections *connections, struct wp_end *end)
{
    struct wp_end *other = end_at(connections, end->peer);
    if (!end->peer)
        return;
    if (end->constraint)
        wp_clock_constraints_part(&connections->constraints, end->constraint);
    end->peer = other->peer = 0;
}

/* Both streams' positions are where they can be when these two are one connection. */
static bool agree(const struct wp_connections *connections, uint32_t one, uint32_t other)
{
    uint64_t sequence = end_at(connections, one)->sequence, others = end_at(connections, other)->sequence;
    const struct wp_end_place *a = wp_ends_place(&connections->ends, one),
                              *b = wp_ends_place(&connections->ends, other);
    if (sequence && others)
        return sequence == (others >> 32 | others << 32);
    bool forth = a->has_sent && b->has_arrived, back = b->has_sent && a->has_arrived;
    int32_t limit = forth && back ? AGREEMENT : ONE_WAY_AGREEMENT;
    if (!(forth && back) && a->tries < ONE_WAY_TRIES && b->tries < ONE_WAY_TRIES)
        return false; /* too little to go by yet */
    return (forth || back) && (!forth || abs((int32_t)(a->sent_end - b->arrived_end)) < limit) &&
        (!back || abs((int32_t)(b->sent_end - a->arrived_end)) < limit);
}

/* Paired by both initial sequence numbers; other pairs are the best that is known. */
static bool is_certain(const struct wp_connections *connections, const struct wp_end *end)
{
    return end->peer && end->sequence && end_at(connections, end->peer)->sequence;
}

/* Of connections that come and go nearly all are over: those are found no more than they must be. One whose numbers are
 * known can still be the other end of one that is told late, which is found by them; one that has its other end by them
 * keeps it. */
static void settle(struct wp_connections *connections, uint32_t index)
{
    struct wp_end *end = end_at(connections, index);
    if (!end->is_over || !end->sequence)
        return;
    wp_ends_unplace(&connections->ends, index);
    if (is_certain(connections, end))
        wp_ends_unnumber(&connections->ends, index);
}

/* Who comes first is the one: more than one can only be one socket that two sessions of its host report. */
static void look_by_sequence(struct wp_connections *connections, uint32_t index)
{
    uint64_t sequence = end_at(connections, index)->sequence;
    uint32_t found = 0, looks = 0;
    for (uint32_t at = wp_ends_by_sequence(&connections->ends, sequence >> 32 | sequence << 32); at && looks < LOOKS;
         at = end_at(connections, at)->by_sequence.next, looks++) {
        if (at == index || end_at(connections, at)->peer)
            continue;
        if (found) {
            end_at(connections, index)->is_ambiguous = true;
            return;
        }
        found = at;
    }
    if (!found)
        return;
    pair(connections, index, found);
    settle(connections, index);
    settle(connections, found);
}

/* Those that could be the other end by addresses and positions; *found is one of them. Counts no further than two. */
static uint32_t candidates(const struct wp_connections *connections, uint32_t index, uint32_t *found)
{
    struct wp_intkey mirror = wp_ends_place(&connections->ends, index)->mirror;
    uint32_t count = 0, looks = 0;
    for (uint32_t at = wp_ends_by_address(&connections->ends, mirror); at && count < 2 && looks < LOOKS;
         at = wp_ends_place(&connections->ends, at)->by_address.next, looks++) {
        if (at == index || is_certain(connections, end_at(connections, at)) || !agree(connections, index, at))
            continue;
        *found = at;
        count++;
    }
    return count;
}

static void doubt(struct wp_connections *connections, uint32_t index)
{
    struct wp_end *end = end_at(connections, index);
    if (end->peer)
        end_at(connections, end->peer)->is_ambiguous = true;
    part(connections, end);
    end->is_ambiguous = true;
}

/* What is paired by its addresses has one candidate, and is that one's only one. A pair of which a second candidate
 * turns up is none any more: which of them was reported first says nothing. */
static void look_by_address(struct wp_connections *connections, uint32_t index)
{
    uint32_t found = 0, back = 0;
    uint32_t count = candidates(connections, index, &found);
    end_at(connections, index)->is_ambiguous = false;
    if (!count)
        return;
    if (count == 1 && candidates(connections, found, &back) == 1 && back == index) {
        pair(connections, index, found);
        return;
    }
    end_at(connections, index)->is_ambiguous = true;
    doubt(connections, found);
}

/* --- life of an end --- */

static void close_constraint(struct wp_connections *connections, struct wp_end *end)
{
    if (end->constraint)
        wp_clock_constraints_close(&connections->constraints, end->constraint);
    end->constraint = 0;
}

void wp_connections_add(
    struct wp_connections *connections, uint32_t host, uint32_t socket, const struct wp_socket_entry *entry)
{
    if (!entry->remote_port || host >= connections->host_count || end_of(connections, host, socket) ||
        socket >= TABLE_SOCKETS || wp_idtable_reserve(&connections->hosts[host].ends, socket))
        return;
    const struct wp_end fresh = {.host = host, .socket = socket, .is_loopback = wp_socket_is_loopback(entry)};
    const struct wp_end_place place = {
        .address = wp_socket_key(entry, false, 0), .mirror = wp_socket_key(entry, true, 0)};
    uint32_t index = wp_ends_add(&connections->ends, &fresh, &place);
    if (!index)
        return;
    struct wp_end *end = end_at(connections, index);
    if (!end->is_loopback)
        end->constraint = wp_clock_constraints_open(&connections->constraints, connections->hosts[host].clock);
    connections->hosts[host].end_count++;
    wp_idtable_use(&connections->hosts[host].ends, socket);
    ((uint32_t *)connections->hosts[host].ends.items)[socket] = index;
}

void wp_connections_remove(struct wp_connections *connections, uint32_t host, uint32_t socket)
{
    struct wp_end *end = end_of(connections, host, socket);
    if (!end)
        return;
    if (connections->watcher)
        connections->watcher(connections->watcher_context, host, socket, NULL, NOBODY);
    part(connections, end);
    close_constraint(connections, end);
    wp_ends_remove(&connections->ends, index_of(connections, host, socket), NOBODY);
    wp_idtable_drop(&connections->hosts[host].ends, socket);
    connections->hosts[host].end_count--;
}

void wp_connections_remove_host(struct wp_connections *connections, uint32_t host)
{
    for (uint32_t i = 1; i < connections->ends.count; i++)
        if (end_at(connections, i)->host == host)
            wp_connections_remove(connections, host, end_at(connections, i)->socket);
    if (host < connections->host_count)
        wp_idtable_fini(&connections->hosts[host].ends);
    wp_traffics_forget(&connections->traffic, host);
    wp_datagrams_forget(&connections->datagrams, host);
    regroup(connections);
}

/* --- events --- */

static void learn_sequence(struct wp_connections *connections, uint32_t index, uint64_t sequence)
{
    struct wp_end *end = end_at(connections, index);
    if (end->sequence == sequence || !sequence)
        return;
    part(connections, end); /* what was thought before rests on less */
    if (!wp_ends_number(&connections->ends, index, sequence))
        look_by_sequence(connections, index);
}

/* For its other end, now and then. */
static void look_at_end(struct wp_connections *connections, uint32_t index, struct wp_end_place *place)
{
    struct wp_end *end = end_at(connections, index);
    place->tries++;
    if (place->tries == LAST_TRY) /* a peer that nobody records */
        close_constraint(connections, end);
    if (place->tries >= FIRST_TRIES && place->tries % FIRST_TRIES)
        return;
    end->is_ambiguous = false;
    if (end->sequence)
        look_by_sequence(connections, index);
    if (!end->peer && !end->is_ambiguous)
        look_by_address(connections, index);
}

void wp_connections_event(struct wp_connections *connections, uint32_t host, const struct wp_event *event)
{
    struct wp_end *end = end_of(connections, host, event->d);
    if (!end)
        return;
    if (event->kind == WP_EVENT_SOCK_RETRANSMIT) { /* says nothing of when its bytes are where */
        count_resent(connections, end, event->c);
        return;
    }
    uint32_t index = index_of(connections, host, event->d);
    struct wp_end_place *place = wp_ends_place(&connections->ends, index);
    switch (event->kind) {
    case WP_EVENT_SOCK_SEND:
        if (place) {
            place->sent_end = (uint32_t)event->a;
            place->has_sent = true;
        }
        if (end->constraint && event->flags & WP_SOCK_AHEAD)
            wp_clock_constraints_sent(&connections->constraints, end->constraint, (uint32_t)event->a, event->time_ns);
        break;
    case WP_EVENT_SOCK_ARRIVE:
        if (place) {
            place->arrived_end = (uint32_t)event->a;
            place->has_arrived = true;
        }
        if (end->constraint)
            wp_clock_constraints_arrived(
                &connections->constraints, end->constraint, (uint32_t)event->a, event->time_ns);
        break;
    case WP_EVENT_SOCK_LEAVE:
        if (end->constraint)
            wp_clock_constraints_left(&connections->constraints, end->constraint, (uint32_t)event->a, event->time_ns);
        break;
    case WP_EVENT_SOCK_STATE:
        if (event->c == TCP_ESTABLISHED)
            learn_sequence(connections, index, event->a);
        end->is_over |= event->c == TCP_CLOSE;
        settle(connections, index);
        break;
    case WP_EVENT_SOCK_RECV:
        count_read(connections, end, event->c);
        break;
    default:
        break;
    }
    uint32_t peer = end->peer ? end_at(connections, end->peer)->host : NOBODY;
    if (connections->watcher && !end->is_loopback && peer != host)
        connections->watcher(connections->watcher_context, host, event->d, event, peer);
    place = wp_ends_place(&connections->ends, index);
    if (!end->peer && !end->is_loopback && place)
        look_at_end(connections, index, place);
}

/* --- questions --- */

size_t wp_connections_bytes(const struct wp_connections *connections, uint32_t host)
{
    const struct host *row = host < connections->host_count ? &connections->hosts[host] : NULL;
    return row ? row->end_count * (sizeof(struct wp_end) + 2 * sizeof(uint32_t)) + wp_idtable_bytes(&row->ends) : 0;
}

void wp_connections_watch(struct wp_connections *connections, wp_connections_watcher *watcher, void *context)
{
    connections->watcher = watcher;
    connections->watcher_context = context;
}

enum wp_pairing wp_connections_peer(
    const struct wp_connections *connections, uint32_t host, uint32_t socket, struct wp_far_end *peer)
{
    const struct wp_end *end = end_of(connections, host, socket);
    if (!end || !end->peer)
        return end && end->is_ambiguous ? WP_PAIR_AMBIGUOUS : WP_PAIR_NONE;
    const struct wp_end *other = end_at(connections, end->peer);
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
    const struct wp_end *end = end_of(connections, host, socket);
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
        wp_host_groups_join(&connections->groups, host, other);
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
