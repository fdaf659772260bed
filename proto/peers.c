/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/peers.h"

#include "common/array.h"
#include "common/clock.h"
#include "common/intmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <xxhash.h>

#define PEERS 262144u
#define FORGET_NS (86400 * WP_NS_PER_S)
#define SESSION_BURST 256u     /* of one host: new ones at once, */
#define SESSION_NS WP_NS_PER_S /* and one in so long after that */

struct wp_peers {
    struct wp_peer *items; /* owned */
    uint32_t count, room, last_number;
    struct wp_intmap by_session, by_number; /* -> index */
    struct wp_intmap by_host;               /* -> index of its rate */
    struct wp_rate *hosts;                  /* owned; as many as items at most: each peer has one host */
    uint32_t host_count;
    uint64_t seed; /* peers choose their UUIDs: they must not choose their place in a table */
};

static struct wp_intkey key_of(const struct wp_peers *peers, const uint8_t uuid[16])
{
    XXH128_hash_t hash = XXH3_128bits_withSeed(uuid, 16, peers->seed);
    return (struct wp_intkey){hash.high64, hash.low64};
}

struct wp_peers *wp_peers_create(void)
{
    struct wp_peers *peers = calloc(1, sizeof(*peers));
    if (peers && getrandom(&peers->seed, sizeof(peers->seed), 0) != sizeof(peers->seed)) {
        free(peers);
        return NULL;
    }
    return peers;
}

void wp_peers_destroy(struct wp_peers *peers)
{
    if (!peers)
        return;
    wp_intmap_fini(&peers->by_session);
    wp_intmap_fini(&peers->by_number);
    wp_intmap_fini(&peers->by_host);
    free(peers->items);
    free(peers->hosts);
    free(peers);
}

void wp_peer_identity(const uint8_t session[16], uint8_t identity[WP_IDENTITY_BYTES])
{
    identity[0] = 'W';
    memcpy(identity + 1, session, 16);
}

struct wp_peer *wp_peers_find(struct wp_peers *peers, const uint8_t *identity, size_t size)
{
    uint32_t index;
    if (size != WP_IDENTITY_BYTES || identity[0] != 'W')
        return NULL;
    if (!wp_intmap_get(&peers->by_session, key_of(peers, identity + 1), &index))
        return NULL;
    return memcmp(peers->items[index].session, identity + 1, 16) ? NULL : &peers->items[index];
}

struct wp_peer *wp_peers_numbered(struct wp_peers *peers, uint32_t number)
{
    uint32_t index;
    return wp_intmap_get(&peers->by_number, (struct wp_intkey){number, 0}, &index) ? &peers->items[index] : NULL;
}

static int index_peer(struct wp_peers *peers, uint32_t index)
{
    const struct wp_peer *peer = &peers->items[index];
    int rc = wp_intmap_put(&peers->by_session, key_of(peers, peer->session), index);
    return rc ? rc : wp_intmap_put(&peers->by_number, (struct wp_intkey){peer->number, 0}, index);
}

/* Also the hosts' rates begin anew then; it is rare. */
static int forget(struct wp_peers *peers, uint64_t now_ns)
{
    uint32_t kept = 0;
    int rc = 0;
    wp_intmap_clear(&peers->by_session);
    wp_intmap_clear(&peers->by_number);
    wp_intmap_clear(&peers->by_host);
    peers->host_count = 0;
    for (uint32_t i = 0; i < peers->count; i++) {
        if (now_ns - peers->items[i].heard_ns > FORGET_NS)
            continue;
        peers->items[kept] = peers->items[i];
        rc = rc ? rc : index_peer(peers, kept); /* fewer than before: there is room */
        kept++;
    }
    peers->count = kept;
    return rc ? rc : kept == PEERS ? -EBUSY : 0;
}

static int make_room(struct wp_peers *peers, uint64_t now_ns)
{
    if (peers->count == PEERS)
        return forget(peers, now_ns);
    uint32_t room = peers->room; /* of both arrays */
    int rc = WP_ARRAY_FIT(peers->items, room, peers->count + 1);
    return rc ? rc : WP_ARRAY_FIT(peers->hosts, peers->room, peers->count + 1);
}

static int count_session(struct wp_peers *peers, const uint8_t host[16], uint64_t now_ns)
{
    uint32_t index;
    if (!wp_intmap_get(&peers->by_host, key_of(peers, host), &index)) {
        if (peers->host_count == peers->room || wp_intmap_put(&peers->by_host, key_of(peers, host), peers->host_count))
            return -ENOMEM;
        index = peers->host_count++;
        peers->hosts[index] = (struct wp_rate){0};
    }
    return wp_rate_allow(&peers->hosts[index], now_ns, SESSION_NS, SESSION_BURST) ? 0 : -EBUSY;
}

int wp_peers_add(
    struct wp_peers *peers, const uint8_t session[16], const uint8_t host[16], uint64_t now_ns, struct wp_peer **out)
{
    int rc = make_room(peers, now_ns);
    if (!rc)
        rc = count_session(peers, host, now_ns);
    if (rc)
        return rc;
    struct wp_peer *peer = &peers->items[peers->count];
    *peer = (struct wp_peer){.number = peers->last_number + 1, .heard_ns = now_ns};
    memcpy(peer->session, session, 16);
    memcpy(peer->host, host, 16);
    if (index_peer(peers, peers->count)) {
        wp_intmap_remove(&peers->by_session, key_of(peers, session));
        return -ENOMEM;
    }
    peers->last_number++;
    peers->count++;
    *out = peer;
    return 0;
}
