/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_CONNECTIONS_H
#define WP_AGGREGATOR_NET_CONNECTIONS_H
/*
 * The TCP connections of all hosts: which two sockets are the ends of one stream. Ends are known by their pair of
 * initial sequence numbers, which no address translation changes (RFC 9293, section 3.4.1: 32 unguessable bits each),
 * and where a connection is older than the recording, by their addresses if just one other end has them and the stream
 * positions of both agree. A wrong pair is worse than none: what fits two others is ambiguous, stays unpaired and is
 * counted. A pair on two hosts is also what tells their clocks apart: what left one was at the other no earlier. Hosts
 * are dense numbers, sockets their session's dictionary ids. Not thread safe.
 */
#include "aggregator/clock/clocks.h"
#include "aggregator/net/traffic.h"
#include "proto/dictionary.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_connections;

/* `clocks` is borrowed; a host's node there is what wp_connections_host says. */
int wp_connections_create(struct wp_connections **connections, struct wp_clocks *clocks);
/* Calls no watcher; `clocks` stays. NULL is allowed. */
void wp_connections_destroy(struct wp_connections *connections);
/* A host joins, with its node in `clocks`; comes before all else about that host, and again when its number is given to
 * another one. -ENOMEM. */
int wp_connections_host(struct wp_connections *connections, uint32_t host, uint32_t clock);
/* A socket and its addresses; told once. */
void wp_connections_add(
    struct wp_connections *connections, uint32_t host, uint32_t socket, const struct wp_socket_entry *entry);
/* Whether wp_connections_add() has taken the socket, and it was not removed since. */
bool wp_connections_has(const struct wp_connections *connections, uint32_t host, uint32_t socket);
/* A socket event of it (wp_event's SOCK kinds of TCP). */
void wp_connections_event(struct wp_connections *connections, uint32_t host, const struct wp_event *event);
/* It has closed, and nobody will ask for it again. */
void wp_connections_remove(struct wp_connections *connections, uint32_t host, uint32_t socket);
/* Removes all its ends, each as wp_connections_remove() does, and its traffic. Which hosts talk then follows from the
 * pairs that are left: datagrams count again from the next one on. */
void wp_connections_remove_host(struct wp_connections *connections, uint32_t host);

/* A datagram was sent from that host, arrived at that host; who sent the last one with that key. */
void wp_connections_datagram(struct wp_connections *connections, uint64_t key, uint32_t host);
/* As above, for an arrival. */
void wp_connections_datagram_taken(struct wp_connections *connections, uint64_t key, uint32_t host);
/* False: not known (any more), and *host is WP_DATAGRAM_NOBODY. The host may have left since. */
bool wp_connections_datagram_host(const struct wp_connections *connections, uint64_t key, uint32_t *host);

/* Called for each event of an end that is not known to be of one host alone, and (event NULL) of its removal; `peer` is
 * the host of its other end, UINT32_MAX unknown. */
typedef void wp_connections_watcher(
    void *context, uint32_t host, uint32_t socket, const struct wp_event *event, uint32_t peer);
/* There is one watcher, NULL: none; `context` is borrowed. It adds and removes no ends. */
void wp_connections_watch(struct wp_connections *connections, wp_connections_watcher *watcher, void *context);

/* Called for each datagram that was sent from that host, or arrived there; `other` is the host at its other end,
 * UINT32_MAX not known yet. */
typedef void wp_datagram_watcher(void *context, uint64_t key, uint32_t host, bool is_sent, uint32_t other);
/* As wp_connections_watch(). */
void wp_connections_watch_datagrams(struct wp_connections *connections, wp_datagram_watcher *watcher, void *context);

/* The other end of a connection. */
struct wp_far_end {
    uint32_t host, socket;
};

enum wp_pairing { WP_PAIR_FOUND, WP_PAIR_NONE /* the other end is not recorded */, WP_PAIR_AMBIGUOUS };
/* *peer is set where one is found. */
enum wp_pairing wp_connections_peer(
    const struct wp_connections *connections, uint32_t host, uint32_t socket, struct wp_far_end *peer);
/* Its initial sequence numbers as SOCK_STATE says them; 0: not known. */
uint64_t wp_connections_sequence(const struct wp_connections *connections, uint32_t host, uint32_t socket);
/* True when what happens on one can matter to the other: a chain of pairs, or of datagrams lately, connects them. */
bool wp_connections_talk(struct wp_connections *connections, uint32_t one, uint32_t other);

/* Rows in no order; valid until the next call that changes something. A host that was removed is in none. */
const struct wp_traffic *wp_connections_traffic(const struct wp_connections *connections, uint32_t *count);

/* Reads of all hosts that ever were, loopback left out, by what was known then: these only grow. */
struct wp_traffic_totals {
    uint64_t matched, unmatched, ambiguous;
};
/* What is held of memory for that host's ends. */
size_t wp_connections_bytes(const struct wp_connections *connections, uint32_t host);
/* Borrowed; changed by the next read. */
const struct wp_traffic_totals *wp_connections_totals(const struct wp_connections *connections);

#endif
