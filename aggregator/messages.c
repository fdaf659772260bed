/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/socket.h>

#define DATAGRAMS 16384u
#define AMBIGUOUS UINT32_MAX
#define TCP_CLOSE_WAIT 8 /* include/net/tcp_states.h */
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2

int wp_messages_init(struct wp_messages *messages, const struct wp_dictionary *dictionary)
{
    *messages = (struct wp_messages){.dictionary = dictionary};
    messages->datagram_ring = calloc(DATAGRAMS, sizeof(*messages->datagram_ring));
    return messages->datagram_ring ? 0 : -ENOMEM;
}

void wp_messages_fini(struct wp_messages *messages)
{
    for (uint32_t i = 0; i < messages->socket_room; i++) {
        free(messages->sockets[i].sends);
        free(messages->sockets[i].receives);
    }
    free(messages->sockets);
    free(messages->datagram_ring);
    wp_intmap_fini(&messages->by_address);
    wp_intmap_fini(&messages->datagrams);
    *messages = (struct wp_messages){0};
}

/* The end at `local` of a connection as a key; netns 0: in whichever namespace. IPv4-mapped IPv6 addresses are IPv4. */
static struct wp_intkey address_key(const struct wp_socket_entry *entry, bool mirrored, uint32_t netns)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    uint8_t bytes[40] = {0};
    const uint8_t *ends[2] = {mirrored ? entry->remote : entry->local, mirrored ? entry->local : entry->remote};
    for (int i = 0; i < 2; i++) {
        bool is_v4 = entry->family == AF_INET || !memcmp(ends[i], mapped, sizeof(mapped));
        const uint8_t *from = is_v4 && entry->family != AF_INET ? ends[i] + 12 : ends[i];
        memcpy(bytes + 16 * i, from, is_v4 ? 4 : 16);
    }
    uint16_t ports[2] = {mirrored ? entry->remote_port : entry->local_port, mirrored ? entry->local_port : entry->remote_port};
    memcpy(bytes + 32, ports, 4);
    uint64_t h[2] = {0xcbf29ce484222325u ^ netns, 0x84222325cbf29ce4u + entry->protocol};
    for (size_t i = 0; i < sizeof(bytes); i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        for (int j = 0; j < 2; j++) {
            h[j] = (h[j] ^ word) * (0x9e3779b97f4a7c15u + 2 * (uint64_t)j);
            h[j] ^= h[j] >> 31;
        }
    }
    return (struct wp_intkey){h[0], h[1]};
}

static bool alive(const struct wp_messages *messages, uint32_t id)
{
    return id < messages->socket_room && messages->sockets[id].is_known && !messages->sockets[id].closing.time_ns;
}

static struct wp_socket *socket_of(struct wp_messages *messages, uint32_t id)
{
    const struct wp_socket_entry *entry = wp_dictionary_socket(messages->dictionary, id);
    if (!entry)
        return NULL;
    if (id >= messages->socket_room) {
        uint32_t room = messages->socket_room ? messages->socket_room : 256;
        while (room <= id)
            room *= 2;
        struct wp_socket *sockets = realloc(messages->sockets, room * sizeof(*sockets));
        if (!sockets)
            return NULL;
        memset(sockets + messages->socket_room, 0, (room - messages->socket_room) * sizeof(*sockets));
        messages->sockets = sockets;
        messages->socket_room = room;
    }
    struct wp_socket *socket = &messages->sockets[id];
    if (!socket->is_known) {
        socket->is_known = true;
        wp_intmap_put(&messages->by_address, address_key(entry, false, entry->netns), id);
        struct wp_intkey anywhere = address_key(entry, false, 0);
        uint32_t other;
        bool is_taken = wp_intmap_get(&messages->by_address, anywhere, &other) && other != AMBIGUOUS && alive(messages, other) &&
            wp_dictionary_socket(messages->dictionary, other)->netns != entry->netns;
        wp_intmap_put(&messages->by_address, anywhere, is_taken ? AMBIGUOUS : id);
    }
    return socket;
}

static void add_send(struct wp_socket *socket, const struct wp_event *event, uint32_t thread)
{
    if (!socket->sends && !(socket->sends = calloc(WP_SOCKET_RING, sizeof(*socket->sends))))
        return;
    socket->sends[socket->send_count++ % WP_SOCKET_RING] =
        (struct wp_send){event->time_ns, (uint32_t)event->a, event->c, thread};
}

static void add_datagram(struct wp_messages *messages, const struct wp_event *event, uint32_t thread)
{
    if (messages->datagrams.count > DATAGRAMS)
        wp_intmap_clear(&messages->datagrams);
    uint64_t n = messages->datagram_count++;
    messages->datagram_ring[n % DATAGRAMS] = (struct wp_send){event->time_ns, event->a, event->c, thread};
    wp_intmap_put(&messages->datagrams, (struct wp_intkey){event->a, 0}, (uint32_t)n);
}

static void add_receive(struct wp_socket *socket, const struct wp_event *event, uint32_t thread)
{
    if (!socket->receives && !(socket->receives = calloc(WP_SOCKET_RING, sizeof(*socket->receives))))
        return;
    socket->receives[socket->receive_count++ % WP_SOCKET_RING] =
        (struct wp_receive){event->time_ns, (uint32_t)event->a, thread};
}

void wp_messages_event(struct wp_messages *messages, const struct wp_event *event, uint32_t thread)
{
    bool is_datagram = event->flags & WP_SOCK_DATAGRAM;
    struct wp_socket *socket = socket_of(messages, event->d);
    if (event->kind == WP_EVENT_SOCK_SEND && is_datagram)
        add_datagram(messages, event, thread);
    if (!socket || is_datagram)
        return;
    if (event->kind == WP_EVENT_SOCK_SEND) {
        if (event->flags & WP_SOCK_SYN)
            socket->connecting = (struct wp_send){event->time_ns, (uint32_t)event->a, 1, thread};
        add_send(socket, event, thread);
    } else if (event->kind == WP_EVENT_SOCK_RECV) {
        add_receive(socket, event, thread);
    } else if (event->kind == WP_EVENT_SOCK_STATE) {
        if (event->c == TCP_SYN_SENT)
            socket->connecting = (struct wp_send){event->time_ns, 0, 0, thread};
        else if (event->c != TCP_ESTABLISHED && event->c != TCP_CLOSE_WAIT && event->b != TCP_SYN_SENT &&
                 !socket->closing.time_ns)
            socket->closing = (struct wp_send){event->time_ns, 0, 0, thread};
    }
}

uint32_t wp_messages_peer(const struct wp_messages *messages, uint32_t id)
{
    const struct wp_socket_entry *entry = wp_dictionary_socket(messages->dictionary, id);
    uint32_t peer;
    if (!entry || !entry->remote_port)
        return 0;
    if (!wp_intmap_get(&messages->by_address, address_key(entry, true, entry->netns), &peer) &&
        !wp_intmap_get(&messages->by_address, address_key(entry, true, 0), &peer))
        return 0;
    return peer == AMBIGUOUS || peer == id ? 0 : peer;
}

static bool is_datagram_socket(const struct wp_messages *messages, uint32_t id)
{
    const struct wp_socket_entry *entry = wp_dictionary_socket(messages->dictionary, id);
    return entry && entry->protocol == IPPROTO_UDP;
}

uint64_t wp_messages_position(const struct wp_messages *messages, uint32_t id, uint64_t key)
{
    uint32_t low;
    if (!is_datagram_socket(messages, id))
        return key;
    if (!wp_intmap_get(&messages->datagrams, (struct wp_intkey){key, 0}, &low))
        return 0;
    const uint64_t last = messages->datagram_count - 1;
    return messages->datagram_ring[low % DATAGRAMS].end == key ? last - ((last - low) % DATAGRAMS) + 1 : 0;
}

static bool find_datagram(const struct wp_messages *messages, uint64_t number, struct wp_send *send)
{
    if (!number || number > messages->datagram_count || messages->datagram_count - number >= DATAGRAMS)
        return false;
    *send = messages->datagram_ring[(number - 1) % DATAGRAMS];
    return true;
}

/* The last send that supplied the byte before `position`. */
static bool find_send(const struct wp_socket *socket, uint32_t position, struct wp_send *send)
{
    uint64_t oldest = socket->send_count > WP_SOCKET_RING ? socket->send_count - WP_SOCKET_RING : 0;
    for (uint64_t i = socket->send_count; i > oldest; i--) {
        const struct wp_send *candidate = &socket->sends[(i - 1) % WP_SOCKET_RING];
        int32_t behind = (int32_t)((uint32_t)candidate->end - position);
        if (behind >= 0 && (uint32_t)behind < candidate->bytes) {
            *send = *candidate;
            return true;
        }
    }
    return false;
}

enum wp_match wp_messages_match(const struct wp_messages *messages, uint32_t id, uint64_t position, uint64_t arrival_ns,
    struct wp_send *send)
{
    if (is_datagram_socket(messages, id))
        return find_datagram(messages, position, send) ? WP_MATCH_FOUND : WP_MATCH_NO_PEER;
    uint32_t peer = wp_messages_peer(messages, id);
    if (!peer || peer >= messages->socket_room)
        return WP_MATCH_NO_PEER;
    const struct wp_socket *other = &messages->sockets[peer];
    if (find_send(other, (uint32_t)position, send))
        return WP_MATCH_FOUND;
    /* Not data: the end of the stream, or the handshake. */
    if (other->closing.time_ns && other->closing.time_ns <= arrival_ns + 1000000) {
        *send = other->closing;
        return WP_MATCH_FOUND;
    }
    if (other->connecting.time_ns && other->connecting.time_ns <= arrival_ns) {
        *send = other->connecting;
        return WP_MATCH_FOUND;
    }
    return WP_MATCH_NO_SEND;
}

enum wp_match wp_messages_drain(const struct wp_messages *messages, uint32_t id, uint64_t at_ns, struct wp_send *read)
{
    uint32_t peer = wp_messages_peer(messages, id);
    if (!peer || peer >= messages->socket_room)
        return WP_MATCH_NO_PEER;
    const struct wp_socket *other = &messages->sockets[peer];
    uint64_t oldest = other->receive_count > WP_SOCKET_RING ? other->receive_count - WP_SOCKET_RING : 0;
    for (uint64_t i = other->receive_count; i > oldest; i--) {
        const struct wp_receive *candidate = &other->receives[(i - 1) % WP_SOCKET_RING];
        if (candidate->time_ns <= at_ns + 1000000) { /* the call may return just after the window opened */
            *read = (struct wp_send){candidate->time_ns, candidate->end, 0, candidate->thread};
            return WP_MATCH_FOUND;
        }
    }
    return WP_MATCH_NO_SEND;
}

bool wp_messages_request(const struct wp_messages *messages, uint32_t id, uint64_t before_ns, struct wp_send *request,
    struct wp_receive *read)
{
    uint32_t peer = wp_messages_peer(messages, id);
    if (!peer || id >= messages->socket_room || peer >= messages->socket_room)
        return false;
    const struct wp_socket *here = &messages->sockets[id], *there = &messages->sockets[peer];
    uint64_t oldest = here->send_count > WP_SOCKET_RING ? here->send_count - WP_SOCKET_RING : 0;
    for (uint64_t i = here->send_count; i > oldest; i--) {
        const struct wp_send *candidate = &here->sends[(i - 1) % WP_SOCKET_RING];
        if (candidate->time_ns > before_ns)
            continue;
        uint64_t first = there->receive_count > WP_SOCKET_RING ? there->receive_count - WP_SOCKET_RING : 0;
        for (uint64_t j = first; j < there->receive_count; j++) { /* the first read that took its last byte */
            const struct wp_receive *took = &there->receives[j % WP_SOCKET_RING];
            if ((int32_t)(took->end - (uint32_t)candidate->end) >= 0) {
                *request = *candidate;
                *read = *took;
                return true;
            }
        }
        return false;
    }
    return false;
}
