/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/perf_script/perf_script_packets.h"

#include <netinet/in.h>

enum { ESTABLISHED = 1, SYN_SENT = 2, CLOSE = 7, CLOSE_WAIT = 8 }; /* include/net/tcp_states.h */

/* --- what happens to a socket --- */

struct place {
    struct wp_perf_packets *packets;
    struct wp_perf_sockets *sockets;
    uint32_t socket;
    const struct wp_perf_packet *packet;
};

static struct wp_perf_socket *row_of(const struct place *at)
{
    return &at->sockets->rows[at->socket];
}

static void note_arrival(const struct place *at, uint64_t time_ns)
{
    at->packets->socket = at->socket;
    at->packets->key = row_of(at)->key;
    at->packets->arrived_ns = time_ns;
}

static bool fill_arrival(const struct place *at, struct wp_fact *fact)
{
    bool is_news = wp_perf_sockets_arrive(at->sockets, at->socket, at->packet->net, &fact->event);
    note_arrival(at, fact->event.time_ns);
    return is_news;
}

static bool fill_state(const struct place *at, uint8_t before, uint8_t after, struct wp_fact *fact)
{
    struct wp_perf_socket *row = row_of(at);
    if (row->is_closed && after != CLOSE)
        wp_perf_sockets_renew(at->sockets, at->socket, true);
    row->is_closed = after == CLOSE;
    if (after == CLOSE_WAIT)
        row->arrived++; /* the end of the stream counts as a byte, which no send has */
    if (after == CLOSE_WAIT || (after == ESTABLISHED && before == SYN_SENT))
        note_arrival(at, fact->event.time_ns);
    fact->event.kind = WP_EVENT_SOCK_STATE;
    fact->event.b = before;
    fact->event.c = after;
    return true;
}

static bool fill_connect(const struct place *at, struct wp_fact *fact)
{
    wp_perf_sockets_renew(at->sockets, at->socket, false);
    return fill_state(at, CLOSE, SYN_SENT, fact);
}

static bool fill_datagram(const struct place *at, enum wp_event_kind kind, uint64_t key, struct wp_fact *fact)
{
    fact->event.kind = (uint8_t)kind;
    fact->event.flags = WP_SOCK_DATAGRAM;
    fact->event.a = key;
    fact->event.c = at->packet->net->bytes;
    return key;
}

static bool fill_datagram_sent(const struct place *at, struct wp_fact *fact)
{
    uint64_t key = wp_perf_sockets_datagram(at->sockets, at->socket, fact->event.time_ns);
    row_of(at)->datagram_sent = key;
    at->packets->datagram = key;
    at->packets->sender = fact->tid;
    at->packets->sent_ns = fact->event.time_ns;
    return fill_datagram(at, WP_EVENT_SOCK_SEND, key, fact);
}

/* Over loopback it is what was sent on this processor just now, though the kernel's own thread may bring it; between
 * two connected sockets what the other one sent last. One that comes from elsewhere gets a key that nobody has sent; 0:
 * not known which. */
static uint64_t arriving(const struct place *at, const struct wp_fact *fact)
{
    const struct wp_perf_packets *packets = at->packets;
    const struct wp_perf_received *received = at->packet->received;
    uint64_t now_ns = fact->event.time_ns;
    bool is_sent_now = packets->datagram && now_ns - packets->sent_ns <= WP_PERF_PACKET_NS;
    bool is_by_sender = is_sent_now && packets->sender == fact->tid;
    if (received && received->is_backlog && is_sent_now)
        return packets->datagram;
    if (received ? received->is_own : is_by_sender)
        return is_by_sender ? packets->datagram : 0;
    uint32_t peer = wp_perf_sockets_peer(at->sockets, at->socket);
    if (peer)
        return at->sockets->rows[peer].datagram_sent;
    const struct wp_perf_socket *row = row_of(at);
    bool is_from_here =
        wp_perf_net_has_ends(&row->entry) ? !wp_perf_socket_is_far(row) : received && received->is_backlog;
    return is_from_here ? 0 : wp_perf_sockets_datagram(at->sockets, at->socket, now_ns);
}

static bool fill_datagram_arrival(const struct place *at, struct wp_fact *fact)
{
    uint64_t key = arriving(at, fact);
    row_of(at)->datagram = key;
    note_arrival(at, fact->event.time_ns);
    return fill_datagram(at, WP_EVENT_SOCK_ARRIVE, key, fact);
}

static bool fill_datagram_read(const struct place *at, struct wp_fact *fact)
{
    uint64_t key = row_of(at)->datagram;
    row_of(at)->datagram = 0;
    return fill_datagram(at, WP_EVENT_SOCK_RECV, key, fact);
}

static bool fill(const struct place *at, struct wp_fact *fact)
{
    const struct wp_perf_net *net = at->packet->net;
    bool is_datagram = row_of(at)->entry.protocol == IPPROTO_UDP;
    switch (at->packet->kind) {
    case WP_PERF_TCP_CONNECT:
        return fill_connect(at, fact);
    case WP_PERF_TCP_CONNECTED:
        return fill_state(at, SYN_SENT, ESTABLISHED, fact);
    case WP_PERF_SOCK_STATE:
        return fill_state(at, net->old_state, net->new_state, fact);
    case WP_PERF_TCP_ARRIVE:
        return fill_arrival(at, fact);
    case WP_PERF_UDP_ARRIVE:
        return fill_datagram_arrival(at, fact);
    case WP_PERF_SOCK_READABLE:
        note_arrival(at, fact->event.time_ns);
        return false;
    case WP_PERF_TCP_SEND:
    case WP_PERF_UDP_SEND:
    case WP_PERF_SOCK_SENT:
        if (at->packet->kind == WP_PERF_SOCK_SENT && net->has_bytes && !net->bytes)
            return false; /* it failed */
        if (is_datagram)
            return fill_datagram_sent(at, fact);
        return wp_perf_sockets_send(at->sockets, at->socket, net, at->packet->kind == WP_PERF_SOCK_SENT, &fact->event);
    default: /* it reads */
        if (net->has_bytes && !net->bytes)
            return false;
        return is_datagram ? fill_datagram_read(at, fact) : wp_perf_sockets_read(at->sockets, at->socket, &fact->event);
    }
}

static uint8_t protocol_of(enum wp_perf_kind kind)
{
    switch (kind) {
    case WP_PERF_UDP_SEND:
    case WP_PERF_UDP_ARRIVE:
    case WP_PERF_UDP_READ:
        return IPPROTO_UDP;
    case WP_PERF_SOCK_SENT:
    case WP_PERF_SOCK_RECEIVED:
        return 0; /* as the line says */
    default:
        return IPPROTO_TCP;
    }
}

int wp_perf_packets_event(struct wp_perf_packets *packets, struct wp_perf_sockets *sockets,
    const struct wp_perf_packet *packet, struct wp_fact *fact)
{
    int rc = 0;
    if (packet->kind == WP_PERF_SOCK_STATE && (!packet->net->new_state || !wp_perf_net_has_ends(&packet->net->entry)))
        return 0;
    uint32_t socket = packet->kind == WP_PERF_SOCK_READABLE
        ? wp_perf_sockets_find(sockets, packet->net)
        : wp_perf_sockets_of(sockets, packet->net, protocol_of(packet->kind), &rc);
    if (!socket)
        return rc;
    const struct place at = {packets, sockets, socket, packet};
    if (!fill(&at, fact))
        return 0;
    fact->socket.key = row_of(&at)->key;
    fact->socket.entry = row_of(&at)->entry;
    return 1;
}

/* --- wakings --- */

/* Its sender is a thread of this host whose sends are told. */
static bool is_from_here(const struct wp_perf_sockets *sockets, uint32_t socket, uint32_t peer)
{
    const struct wp_perf_socket *row = &sockets->rows[socket];
    return row->entry.protocol == IPPROTO_UDP ? row->datagram != 0 : peer && sockets->rows[peer].has_sent;
}

/* Where the line says nothing of the ends, its way must: over loopback it takes another one. */
static bool is_from_elsewhere(const struct wp_perf_socket *row, const struct wp_perf_received *received)
{
    if (wp_perf_net_has_ends(&row->entry))
        return wp_perf_socket_is_far(row);
    return !received->is_own && !received->is_backlog;
}

void wp_perf_packets_waking(const struct wp_perf_packets *packets, const struct wp_perf_sockets *sockets,
    const struct wp_perf_received *received, struct wp_fact *fact)
{
    const struct wp_perf_socket *row = packets->socket ? &sockets->rows[packets->socket] : NULL;
    if (!row || row->key != packets->key || fact->event.time_ns - packets->arrived_ns > WP_PERF_PACKET_NS ||
        (received->protocol && received->protocol != row->entry.protocol))
        return;
    bool is_datagram = row->entry.protocol == IPPROTO_UDP;
    uint32_t peer = wp_perf_sockets_peer(sockets, packets->socket);
    if (!is_from_here(sockets, packets->socket, peer) &&
        (is_datagram || peer || received->is_own || !is_from_elsewhere(row, received)))
        return;
    fact->event.c = WP_CAUSE_MESSAGE;
    fact->event.flags = WP_CONTEXT_SOFTIRQ;
    fact->event.d = 0;
    fact->event.a = is_datagram ? row->datagram : row->arrived;
    if (!is_datagram && received->is_room)
        fact->event.a |= WP_POSITION_ACKNOWLEDGES;
    fact->socket.key = row->key;
    fact->socket.entry = row->entry;
}
