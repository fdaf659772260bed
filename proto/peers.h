/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_PEERS_H
#define WP_PROTO_PEERS_H
/*
 * Who has said Hello to a server: sessions, the host each belongs to, and how often they may say it. A peer is known by
 * its ZeroMQ identity, which is made of its session, and has a number that is never given to another. Bounded; one
 * thread.
 */
#include "common/rate.h"

#include <stddef.h>
#include <stdint.h>

#define WP_IDENTITY_BYTES 17u /* 'W' and the session's UUID */

struct wp_peers;

/* A session that has said Hello. */
struct wp_peer {
    uint8_t session[16], host[16];
    uint32_t number;
    struct wp_rate hellos;
    uint64_t heard_ns;
};

/* NULL when out of memory or without random numbers. */
struct wp_peers *wp_peers_create(void);
/* Frees all peers; NULL is allowed. */
void wp_peers_destroy(struct wp_peers *peers);
/* The ZeroMQ identity of a session: 'W', then its UUID. */
void wp_peer_identity(const uint8_t session[16], uint8_t identity[WP_IDENTITY_BYTES]);
/* NULL when nobody of that identity (any bytes) or number is known. Valid until the next add. */
struct wp_peer *wp_peers_find(struct wp_peers *peers, const uint8_t *identity, size_t size);
/* NULL when no peer has that number. */
struct wp_peer *wp_peers_numbered(struct wp_peers *peers, uint32_t number);
/* A session that is not there yet. -EBUSY: the host begins too many sessions; -ENOMEM. Those who were not heard for a
 * day are forgotten when there are too many. */
int wp_peers_add(
    struct wp_peers *peers, const uint8_t session[16], const uint8_t host[16], uint64_t now_ns, struct wp_peer **peer);

#endif
