/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/perf_script/perf_script_sockets.h"

#include "common/array.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

void wp_perf_sockets_fini(struct wp_perf_sockets *sockets)
{
    free(sockets->rows);
    wp_intmap_fini(&sockets->by_sk);
    wp_intmap_fini(&sockets->by_cookie);
    wp_intmap_fini(&sockets->by_ends);
    *sockets = (struct wp_perf_sockets){0};
}

/* --- names --- */

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static struct wp_intkey key_of(uint64_t name)
{
    return (struct wp_intkey){name, 0};
}

/* Of both ends, or as the other one has them. */
static struct wp_intkey ends_key(const struct wp_socket_entry *entry, bool is_mirrored)
{
    uint64_t words[5] = {0};
    memcpy(words, is_mirrored ? entry->remote : entry->local, 16);
    memcpy(words + 2, is_mirrored ? entry->local : entry->remote, 16);
    uint16_t ports[2] = {entry->local_port, entry->remote_port};
    words[4] = (uint64_t)ports[is_mirrored] << 32 | (uint64_t)ports[!is_mirrored] << 16 | entry->protocol;
    struct wp_intkey key = {entry->family, ~(uint64_t)entry->family};
    for (size_t i = 0; i < 5; i++) {
        key.a = mixed(key.a ^ words[i]);
        key.b = mixed(key.b + words[i]);
    }
    return key;
}

static void unname(struct wp_intmap *map, struct wp_intkey key, uint32_t socket)
{
    uint32_t found;
    if (wp_intmap_get(map, key, &found) && found == socket)
        wp_intmap_remove(map, key);
}

static void forget(struct wp_perf_sockets *sockets, uint32_t socket)
{
    struct wp_perf_socket *row = &sockets->rows[socket];
    unname(&sockets->by_sk, key_of(row->sk), socket);
    unname(&sockets->by_cookie, key_of(row->cookie), socket);
    unname(&sockets->by_ends, ends_key(&row->entry, false), socket);
    *row = (struct wp_perf_socket){0};
}

/* 0: out of memory. */
static uint32_t make_socket(struct wp_perf_sockets *sockets, uint8_t protocol)
{
    uint32_t socket = sockets->count + 1;
    if (sockets->count == WP_PERF_SOCKETS) {
        socket = sockets->next++ % WP_PERF_SOCKETS + 1;
        forget(sockets, socket);
    } else if (WP_ARRAY_FIT_ZERO(sockets->rows, sockets->room, socket + 1)) {
        return 0;
    } else {
        sockets->count++;
    }
    sockets->rows[socket] =
        (struct wp_perf_socket){.key = ++sockets->last_key, .entry = {.family = AF_INET, .protocol = protocol}};
    return socket;
}

/* The row that has this name, unless what else the line says is not true of it: the name was given away again. */
static uint32_t named(const struct wp_perf_sockets *sockets, const struct wp_intmap *map, uint64_t name,
    const struct wp_socket_entry *entry)
{
    uint32_t socket = 0;
    if (!name || !wp_intmap_get(map, key_of(name), &socket))
        return 0;
    const struct wp_socket_entry *known = &sockets->rows[socket].entry;
    bool differs = wp_perf_net_has_ends(entry) && wp_perf_net_has_ends(known) &&
        (entry->local_port != known->local_port || entry->remote_port != known->remote_port ||
            entry->family != known->family || memcmp(entry->local, known->local, sizeof(known->local)) ||
            memcmp(entry->remote, known->remote, sizeof(known->remote)));
    return differs || (entry->protocol && entry->protocol != known->protocol) ? 0 : socket;
}

static uint32_t find(
    const struct wp_perf_sockets *sockets, const struct wp_perf_net *net, const struct wp_socket_entry *entry)
{
    uint32_t socket = 0;
    if (wp_perf_net_has_ends(entry) && wp_intmap_get(&sockets->by_ends, ends_key(entry, false), &socket))
        return socket;
    socket = named(sockets, &sockets->by_sk, net->sk, entry);
    return socket ? socket : named(sockets, &sockets->by_cookie, net->cookie, entry);
}

/* What the line says beyond what is known of the socket. */
static int learn(struct wp_perf_sockets *sockets, uint32_t socket, const struct wp_perf_net *net)
{
    struct wp_perf_socket *row = &sockets->rows[socket];
    int rc = 0;
    if (net->sk && row->sk != net->sk) {
        unname(&sockets->by_sk, key_of(row->sk), socket);
        row->sk = net->sk;
        rc = wp_intmap_put(&sockets->by_sk, key_of(net->sk), socket);
    }
    if (!rc && net->cookie && row->cookie != net->cookie) {
        unname(&sockets->by_cookie, key_of(row->cookie), socket);
        row->cookie = net->cookie;
        rc = wp_intmap_put(&sockets->by_cookie, key_of(net->cookie), socket);
    }
    bool is_news = wp_perf_net_has_ends(&net->entry) ? !wp_perf_net_has_ends(&row->entry)
                                                     : net->entry.local_port && !row->entry.local_port;
    if (rc || !is_news)
        return rc;
    uint8_t protocol = row->entry.protocol;
    row->entry = net->entry;
    row->entry.protocol = protocol;
    row->key = ++sockets->last_key; /* another entry is another socket for who reads the facts */
    return wp_perf_net_has_ends(&row->entry) ? wp_intmap_put(&sockets->by_ends, ends_key(&row->entry, false), socket)
                                             : 0;
}

uint32_t wp_perf_sockets_of(struct wp_perf_sockets *sockets, const struct wp_perf_net *net, uint8_t protocol, int *rc)
{
    struct wp_socket_entry entry = net->entry;
    *rc = 0;
    if (!entry.protocol)
        entry.protocol = protocol;
    if (entry.protocol != IPPROTO_TCP && entry.protocol != IPPROTO_UDP)
        return 0;
    uint32_t socket = find(sockets, net, &entry);
    if (!socket)
        socket = make_socket(sockets, entry.protocol);
    *rc = socket ? learn(sockets, socket, net) : -ENOMEM;
    return *rc ? 0 : socket;
}

uint32_t wp_perf_sockets_find(const struct wp_perf_sockets *sockets, const struct wp_perf_net *net)
{
    return find(sockets, net, &net->entry);
}

uint32_t wp_perf_sockets_peer(const struct wp_perf_sockets *sockets, uint32_t socket)
{
    uint32_t peer;
    const struct wp_socket_entry *entry = &sockets->rows[socket].entry;
    bool is_known = wp_perf_net_has_ends(entry) && wp_intmap_get(&sockets->by_ends, ends_key(entry, true), &peer);
    return is_known && peer != socket && !sockets->rows[peer].is_closed ? peer : 0;
}

void wp_perf_sockets_renew(struct wp_perf_sockets *sockets, uint32_t socket, bool keeps_ends)
{
    struct wp_perf_socket *row = &sockets->rows[socket];
    struct wp_perf_socket fresh = {.key = ++sockets->last_key,
        .entry = {.family = AF_INET, .protocol = row->entry.protocol},
        .sk = row->sk,
        .cookie = row->cookie};
    if (keeps_ends)
        fresh.entry = row->entry;
    else
        unname(&sockets->by_ends, ends_key(&row->entry, false), socket);
    *row = fresh;
}

/* --- streams --- */

static bool is_behind(uint32_t position, uint32_t other)
{
    return (int32_t)(position - other) < 0;
}

static struct wp_perf_socket *peer_of(struct wp_perf_sockets *sockets, uint32_t socket)
{
    uint32_t peer = wp_perf_sockets_peer(sockets, socket);
    return peer ? &sockets->rows[peer] : NULL;
}

bool wp_perf_sockets_send(struct wp_perf_sockets *sockets, uint32_t socket, const struct wp_perf_net *net, bool is_late,
    struct wp_event *event)
{
    struct wp_perf_socket *row = &sockets->rows[socket];
    const struct wp_perf_socket *peer = peer_of(sockets, socket);
    if (net->has_bytes && !net->bytes)
        return false;
    uint32_t bytes = net->has_bytes ? net->bytes : 1;
    if (is_late)
        row->sent += bytes;
    if (peer && is_behind(row->sent, peer->arrived))
        row->sent = peer->arrived;
    if (!is_late)
        row->sent += bytes;
    row->has_sent = true;
    row->is_late = is_late;
    event->kind = WP_EVENT_SOCK_SEND;
    event->a = row->sent;
    event->c = bytes;
    return true;
}

bool wp_perf_sockets_arrive(
    struct wp_perf_sockets *sockets, uint32_t socket, const struct wp_perf_net *net, struct wp_event *event)
{
    struct wp_perf_socket *row = &sockets->rows[socket];
    const struct wp_perf_socket *peer = peer_of(sockets, socket);
    bool is_told_before = peer && peer->has_sent && !peer->is_late;
    uint32_t before = row->arrived;
    if (net->has_bytes && !net->bytes)
        return false;
    if (!is_told_before)
        row->arrived += net->has_bytes ? net->bytes : 1;
    else if (is_behind(row->arrived, peer->sent))
        row->arrived = peer->sent;
    event->kind = WP_EVENT_SOCK_ARRIVE;
    event->a = row->arrived;
    event->c = row->arrived - before;
    return event->c;
}

bool wp_perf_sockets_read(struct wp_perf_sockets *sockets, uint32_t socket, struct wp_event *event)
{
    struct wp_perf_socket *row = &sockets->rows[socket];
    event->kind = WP_EVENT_SOCK_RECV;
    event->a = row->arrived;
    event->c = row->arrived - row->read;
    row->read = row->arrived;
    return event->c;
}

/* --- datagrams --- */

uint64_t wp_perf_sockets_datagram(struct wp_perf_sockets *sockets, uint32_t socket, uint64_t time_ns)
{
    const struct wp_perf_socket *row = &sockets->rows[socket];
    uint64_t key = mixed(mixed(time_ns) ^ mixed(row->sk ^ row->cookie) ^ ++sockets->last_key);
    return key >> 1 ? key >> 1 : 1; /* the highest bit says something else */
}

bool wp_perf_socket_is_far(const struct wp_perf_socket *socket)
{
    static const uint8_t one[16] = {[15] = 1};
    const struct wp_socket_entry *entry = &socket->entry;
    return wp_perf_net_has_ends(entry) && memcmp(entry->local, entry->remote, sizeof(entry->local)) &&
        (entry->family == AF_INET ? entry->remote[0] != 127 : memcmp(entry->remote, one, sizeof(one)) != 0);
}
