/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/messages.h"

#include "aggregator/net/connections.h"
#include "aggregator/net/message_datagrams.h"
#include "aggregator/net/message_replies.h"
#include "aggregator/net/message_roles.h"
#include "aggregator/net/socket_key.h"
#include "common/array.h"
#include "common/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>

#define AMBIGUOUS UINT32_MAX
#define TCP_CLOSE_WAIT 8 /* include/net/tcp_states.h */
#define TCP_CLOSE 7
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3

int wp_messages_init(struct wp_messages *messages, struct wp_dictionary *dictionary)
{
    *messages = (struct wp_messages){.dictionary = dictionary};
    wp_idtable_init(&messages->table, sizeof(struct wp_socket));
    wp_idtable_init(&messages->last, sizeof(struct wp_last_message));
    wp_idtable_init(&messages->datagram_sockets, sizeof(uint8_t));
    messages->datagram_generation = 1;
    wp_asked_init(&messages->asked);
    wp_turns_init(&messages->turns);
    wp_reads_init(&messages->reads);
    wp_acts_init(&messages->acts);
    return 0;
}

static struct wp_socket *at(const struct wp_messages *messages, uint32_t id)
{
    return (struct wp_socket *)messages->table.items + id;
}

static void free_arrivals(struct wp_messages *messages, struct wp_socket *socket)
{
    messages->ring_bytes -= wp_arrivals_bytes(&socket->arrivals);
    wp_arrivals_fini(&socket->arrivals);
}

static void free_rings(struct wp_messages *messages, struct wp_socket *socket)
{
    messages->ring_bytes -= (socket->sends ? (socket->send_ring.mask + (size_t)1) * sizeof(*socket->sends) : 0) +
        (socket->receives ? (socket->receive_ring.mask + (size_t)1) * sizeof(*socket->receives) : 0);
    free(socket->sends);
    free(socket->receives);
    free_arrivals(messages, socket);
    socket->sends = NULL;
    socket->receives = NULL;
    socket->send_ring = socket->receive_ring = (struct wp_message_ring){0};
}

void wp_messages_fini(struct wp_messages *messages)
{
    for (uint32_t i = 0; i < messages->table.room; i++)
        if (wp_idtable_has(&messages->table, i))
            free_rings(messages, at(messages, i));
    wp_idtable_fini(&messages->table);
    wp_idtable_fini(&messages->last);
    wp_idtable_fini(&messages->datagram_sockets);
    free(messages->datagram_ring);
    free(messages->datagram_before);
    free(messages->replies);
    wp_asked_fini(&messages->asked);
    wp_turns_fini(&messages->turns);
    wp_reads_fini(&messages->reads);
    wp_acts_fini(&messages->acts);
    wp_intmap_fini(&messages->by_address);
    wp_intmap_fini(&messages->datagrams);
    *messages = (struct wp_messages){0};
}

/* --- sockets come and go --- */

static bool alive(const struct wp_messages *messages, uint32_t id)
{
    const struct wp_socket *socket = wp_messages_socket(messages, id);
    return socket && !socket->closing.time_ns && !socket->over_ns;
}

/* At the end of the list of those that may be forgotten, where it is not in it yet. */
static void list(struct wp_messages *messages, uint32_t id, uint64_t time_ns)
{
    struct wp_socket *socket = at(messages, id),
                     *last = messages->last_closed ? at(messages, messages->last_closed) : NULL;
    if (socket->listed_ns)
        return;
    socket->listed_ns = last && last->listed_ns > time_ns ? last->listed_ns : time_ns ? time_ns : 1;
    socket->next_closed = 0;
    if (last)
        last->next_closed = id;
    else
        messages->first_closed = id;
    messages->last_closed = id;
}

/* What is ambiguous is found as little as what is not there. */
static void unindex(struct wp_messages *messages, uint32_t id, struct wp_intkey key)
{
    uint32_t other;
    if (wp_intmap_get(&messages->by_address, key, &other) && (other == id || other == AMBIGUOUS))
        wp_intmap_remove(&messages->by_address, key);
}

static void unindex_socket(struct wp_messages *messages, uint32_t id)
{
    const struct wp_socket_entry *entry = wp_dictionary_socket(messages->dictionary, id);
    if (!entry)
        return;
    unindex(messages, id, wp_socket_key(entry, false, entry->netns));
    unindex(messages, id, wp_socket_key(entry, false, 0));
}

static const struct wp_receive *last_receive(const struct wp_socket *socket)
{
    const struct wp_message_ring *ring = &socket->receive_ring;
    return ring->end > ring->first ? &socket->receives[(ring->end - 1) & ring->mask] : NULL;
}

/* Nobody who comes later has anything to do with it: its other end knows it by now, and its address is free for
 * another one. */
static void end_socket(struct wp_messages *messages, uint32_t id, uint64_t time_ns)
{
    struct wp_socket *socket = at(messages, id);
    const struct wp_receive *read = last_receive(socket);
    uint32_t peer = wp_messages_peer(messages, id);
    socket->over_ns = time_ns ? time_ns : 1;
    list(messages, id, time_ns);
    if (peer) {
        socket->peer = peer;
        at(messages, peer)->peer = id;
    }
    unindex_socket(messages, id);
    if (read && wp_arrivals_are_read(&socket->arrivals, read->end))
        free_arrivals(messages, socket);
}

/* Finds it by its addresses from now on. An older one with the same ones has ended, though nobody said so. */
static void index_socket(
    struct wp_messages *messages, uint32_t id, const struct wp_socket_entry *entry, uint64_t time_ns)
{
    struct wp_intkey here = wp_socket_key(entry, false, entry->netns), anywhere = wp_socket_key(entry, false, 0);
    uint32_t other;
    if (entry->remote_port && wp_intmap_get(&messages->by_address, here, &other) && other != AMBIGUOUS &&
        wp_messages_socket(messages, other) && !at(messages, other)->over_ns)
        end_socket(messages, other, time_ns);
    wp_intmap_put(&messages->by_address, here, id);
    bool is_taken = wp_intmap_get(&messages->by_address, anywhere, &other) && other != AMBIGUOUS &&
        alive(messages, other) && wp_dictionary_socket(messages->dictionary, other)->netns != entry->netns;
    wp_intmap_put(&messages->by_address, anywhere, is_taken ? AMBIGUOUS : id);
}

static void forget_socket(struct wp_messages *messages, uint32_t id)
{
    free_rings(messages, at(messages, id));
    if (messages->connections)
        wp_connections_remove(messages->connections, messages->host, id);
    wp_idtable_drop(&messages->table, id);
    wp_dictionary_forget_socket(messages->dictionary, id);
}

/* NULL: it is forgotten, one of datagrams, or there is no memory. */
static struct wp_socket *socket_of(struct wp_messages *messages, const struct wp_event *event)
{
    uint32_t id = event->d;
    if (wp_idtable_has(&messages->table, id))
        return at(messages, id);
    const struct wp_socket_entry *entry = wp_dictionary_socket(messages->dictionary, id);
    if (!entry || entry->protocol == IPPROTO_UDP || wp_idtable_reserve(&messages->table, id))
        return NULL;
    wp_idtable_use(&messages->table, id);
    at(messages, id)->opener = entry->opener;
    index_socket(messages, id, entry, event->time_ns);
    if (messages->connections && entry->protocol == IPPROTO_TCP)
        wp_connections_add(messages->connections, messages->host, id, entry);
    return at(messages, id);
}

/* --- transfers --- */

static const struct wp_send *send_at(const struct wp_socket *socket, uint64_t i)
{
    return &socket->sends[i & socket->send_ring.mask];
}

static const struct wp_receive *receive_at(const struct wp_socket *socket, uint64_t i)
{
    return &socket->receives[i & socket->receive_ring.mask];
}

/* The first send later than that, the first receive later than that. */
static uint64_t sends_after(const struct wp_socket *socket, uint64_t time_ns)
{
    return wp_message_ring_after(socket->sends, &socket->send_ring, sizeof(*socket->sends), time_ns);
}

static uint64_t receives_after(const struct wp_socket *socket, uint64_t time_ns)
{
    return wp_message_ring_after(socket->receives, &socket->receive_ring, sizeof(*socket->receives), time_ns);
}

/* The thread did something on that socket; when it last did so on another one. */
static uint64_t note_last(struct wp_messages *messages, const struct wp_event *event, uint32_t thread)
{
    if (wp_idtable_reserve(&messages->last, thread))
        return 0;
    wp_idtable_use(&messages->last, thread);
    struct wp_last_message *last = (struct wp_last_message *)messages->last.items + thread;
    if (last->socket != event->d)
        last->others_ns = last->time_ns;
    last->socket = event->d;
    last->time_ns = event->time_ns;
    return last->others_ns;
}

static size_t ring_size(const void *entries, const struct wp_message_ring *ring)
{
    return entries ? ring->mask + (size_t)1 : 0;
}

static void add_send(
    struct wp_messages *messages, struct wp_socket *socket, const struct wp_event *event, uint32_t thread)
{
    void *entries = socket->sends;
    size_t before = ring_size(entries, &socket->send_ring);
    bool has_room = wp_message_ring_room(&entries, &socket->send_ring, sizeof(*socket->sends), event->time_ns);
    socket->sends = entries;
    messages->ring_bytes += (ring_size(entries, &socket->send_ring) - before) * sizeof(*socket->sends);
    if (has_room)
        socket->sends[socket->send_ring.end++ & socket->send_ring.mask] =
            (struct wp_send){event->time_ns, (uint32_t)event->a, event->c, thread};
}

static void add_arrival(struct wp_messages *messages, struct wp_socket *socket, const struct wp_event *event)
{
    size_t before = wp_arrivals_bytes(&socket->arrivals);
    wp_arrivals_add(&socket->arrivals, &(struct wp_arrival){event->time_ns, (uint32_t)event->a});
    messages->ring_bytes += wp_arrivals_bytes(&socket->arrivals) - before;
}

static void add_receive(struct wp_messages *messages, const struct wp_event *event, uint32_t thread, uint64_t others_ns)
{
    struct wp_socket *socket = at(messages, event->d);
    void *entries = socket->receives;
    size_t before = ring_size(entries, &socket->receive_ring);
    bool has_room = wp_message_ring_room(&entries, &socket->receive_ring, sizeof(*socket->receives), event->time_ns);
    socket->receives = entries;
    messages->ring_bytes += (ring_size(entries, &socket->receive_ring) - before) * sizeof(*socket->receives);
    if (has_room)
        socket->receives[socket->receive_ring.end++ & socket->receive_ring.mask] = (struct wp_receive){event->time_ns,
            others_ns, wp_arrivals_of(&socket->arrivals, (uint32_t)event->a), (uint32_t)event->a, thread};
}

/* Shut down in one direction at least, or closed: then nothing comes any more. */
static void on_state(
    struct wp_messages *messages, struct wp_socket *socket, const struct wp_event *event, uint32_t thread)
{
    if (event->c == TCP_SYN_SENT || (event->c == TCP_ESTABLISHED && event->b == TCP_SYN_SENT))
        socket->opener = WP_OPENER_HERE;
    else if (event->c == TCP_ESTABLISHED && event->b == TCP_SYN_RECV)
        socket->opener = WP_OPENER_THERE;
    if (event->c == TCP_ESTABLISHED)
        socket->opened_ns = event->time_ns;
    if (event->c == TCP_SYN_SENT) {
        socket->connecting = (struct wp_socket_act){event->time_ns, thread, 0};
        socket->has_asked = false;
    } else if (event->c != TCP_ESTABLISHED && event->c != TCP_CLOSE_WAIT && event->b != TCP_SYN_SENT &&
        !socket->closing.time_ns) {
        socket->closing = (struct wp_socket_act){event->time_ns, thread, 0};
        list(messages, event->d, event->time_ns);
    }
    if (event->c == TCP_CLOSE_WAIT)
        socket->ended_ns = event->time_ns;
    if (event->c == TCP_CLOSE && !socket->over_ns)
        end_socket(messages, event->d, event->time_ns);
}

static void note_answer(
    struct wp_messages *messages, const struct wp_socket *socket, const struct wp_event *event, uint32_t thread)
{
    uint64_t asked_ns = wp_messages_asked(messages, event->d, event->time_ns),
             arrived_ns = wp_arrivals_of(&socket->arrivals, (uint32_t)event->a);
    struct wp_answer answer = {event->time_ns, asked_ns,
        arrived_ns && arrived_ns < event->time_ns ? arrived_ns : event->time_ns, event->d, (uint32_t)event->a};
    if (asked_ns)
        wp_asked_read(&messages->asked, thread, &answer);
}

/* A client's thread has asked, or was answered, or never will be: of a pool of threads one may have asked, and another
 * one reads. What a thread asked of itself, over a connection with both ends in it, it does not wait for. */
static void note_asked(
    struct wp_messages *messages, const struct wp_socket *socket, const struct wp_event *event, uint32_t thread)
{
    struct wp_send sent = {0};
    struct wp_asked *asked = &messages->asked;
    bool is_read = event->kind == WP_EVENT_SOCK_RECV;
    bool is_over = event->kind == WP_EVENT_SOCK_STATE && event->c > TCP_ESTABLISHED && event->b != TCP_SYN_SENT;
    if (is_read)
        note_answer(messages, socket, event, thread);
    if (is_read && wp_asked_has_open(asked, thread, event->time_ns) && wp_messages_peer(messages, event->d))
        wp_asked_answer(asked, thread, wp_messages_peer(messages, event->d));
    if (event->kind == WP_EVENT_SOCK_SEND && !(event->flags & WP_SOCK_FIN) &&
        !wp_messages_is_served(messages, socket, event->d))
        wp_asked_send(asked, thread, event->d, event->time_ns);
    if (!is_read && !is_over)
        return;
    wp_asked_answer(asked, thread, event->d);
    if (wp_messages_last_send(messages, event->d, event->time_ns, &sent) && sent.thread)
        wp_asked_answer(asked, sent.thread, event->d);
}

/* A request, or a datagram; `socket` is NULL for that. */
static void note_read(
    struct wp_messages *messages, const struct wp_socket *socket, const struct wp_event *event, uint32_t thread)
{
    if (event->kind != WP_EVENT_SOCK_RECV || !thread || (socket && !wp_messages_is_served(messages, socket, event->d)))
        return;
    uint64_t position = wp_messages_position(messages, event->d, event->a);
    wp_reads_add(&messages->reads, thread, &(struct wp_read){event->time_ns, position, event->d});
}

static void note_act(
    struct wp_messages *messages, const struct wp_socket *socket, const struct wp_event *event, uint32_t thread)
{
    bool is_read = event->kind == WP_EVENT_SOCK_RECV;
    if (!event->c || event->flags & (WP_SOCK_SYN | WP_SOCK_FIN) || (!is_read && event->kind != WP_EVENT_SOCK_SEND))
        return;
    bool is_asked = wp_messages_is_served(messages, socket, event->d);
    enum wp_act_kind kind =
        is_read ? (is_asked ? WP_ACT_REQUEST : WP_ACT_ANSWER) : (is_asked ? WP_ACT_REPLY : WP_ACT_ASK);
    wp_acts_add(&messages->acts, thread, &(struct wp_act){event->time_ns, event->d, kind});
}

void wp_messages_event(struct wp_messages *messages, const struct wp_event *event, uint32_t thread)
{
    if (event->kind == WP_EVENT_LOCAL) {
        wp_turns_event(&messages->turns, event, thread);
        if (event->c && thread)
            wp_acts_add(&messages->acts, thread, &(struct wp_act){event->time_ns, event->d, WP_ACT_OTHER});
        return;
    }
    bool is_datagram = event->flags & WP_SOCK_DATAGRAM;
    struct wp_socket *socket = is_datagram ? NULL : socket_of(messages, event);
    bool is_transfer = event->kind == WP_EVENT_SOCK_SEND || event->kind == WP_EVENT_SOCK_RECV;
    uint64_t others_ns = is_transfer && thread ? note_last(messages, event, thread) : 0;
    if (is_datagram)
        wp_messages_datagram_event(messages, event, thread);
    if (is_datagram || socket)
        note_read(messages, socket, event, thread);
    if (!socket)
        return;
    if (messages->connections)
        wp_connections_event(messages->connections, messages->host, event);
    if (thread) {
        note_asked(messages, socket, event, thread);
        note_act(messages, socket, event, thread);
    }
    if (event->kind == WP_EVENT_SOCK_SEND) {
        if (event->flags & WP_SOCK_SYN) {
            socket->connecting = (struct wp_socket_act){event->time_ns, thread, (uint32_t)event->a};
            socket->has_asked = true;
        }
        if (thread && event->c && !(event->flags & WP_SOCK_SYN) && wp_messages_is_served(messages, socket, event->d))
            wp_messages_note_reply(messages, socket, event, thread);
        add_send(messages, socket, event, thread);
    } else if (event->kind == WP_EVENT_SOCK_RECV) {
        add_receive(messages, event, thread, others_ns);
    } else if (event->kind == WP_EVENT_SOCK_ARRIVE) {
        add_arrival(messages, socket, event);
    } else if (event->kind == WP_EVENT_SOCK_STATE) {
        on_state(messages, socket, event, thread);
    }
    if (socket->closing.time_ns && !socket->listed_ns) /* half closed for long, and it goes on */
        list(messages, event->d, event->time_ns);
}

void wp_messages_forget(struct wp_messages *messages, uint64_t horizon_ns)
{
    while (messages->reply_first < messages->reply_end && messages->replies[messages->reply_first].time_ns < horizon_ns)
        messages->reply_first++;
    for (uint32_t id; (id = messages->first_closed);) {
        struct wp_socket *socket = at(messages, id);
        if (socket->listed_ns >= horizon_ns)
            return;
        messages->first_closed = socket->next_closed;
        if (!messages->first_closed)
            messages->last_closed = 0;
        socket->listed_ns = 0;
        if (socket->over_ns >= horizon_ns)
            list(messages, id, socket->over_ns);
        else if (socket->over_ns)
            forget_socket(messages, id);
        else
            free_rings(messages, socket);
    }
}

void wp_messages_forget_thread(struct wp_messages *messages, uint32_t thread)
{
    wp_idtable_drop(&messages->last, thread);
    wp_asked_forget(&messages->asked, thread);
    wp_turns_forget(&messages->turns, thread);
    wp_reads_forget(&messages->reads, thread);
    wp_acts_forget(&messages->acts, thread);
}

size_t wp_messages_bytes(const struct wp_messages *messages)
{
    size_t per_datagram = sizeof(*messages->datagram_ring) + sizeof(*messages->datagram_before);
    return wp_idtable_bytes(&messages->table) + wp_idtable_bytes(&messages->last) + wp_asked_bytes(&messages->asked) +
        wp_turns_bytes(&messages->turns) + wp_reads_bytes(&messages->reads) + wp_acts_bytes(&messages->acts) +
        messages->ring_bytes + messages->datagram_room * per_datagram +
        messages->reply_room * sizeof(*messages->replies) + wp_intmap_bytes(&messages->by_address) +
        wp_intmap_bytes(&messages->datagrams) + wp_idtable_bytes(&messages->datagram_sockets);
}

uint32_t wp_messages_peer(const struct wp_messages *messages, uint32_t id)
{
    const struct wp_socket_entry *entry = wp_dictionary_socket(messages->dictionary, id);
    const struct wp_socket *socket = wp_messages_socket(messages, id);
    uint32_t peer;
    if (!entry || !entry->remote_port)
        return 0;
    if (socket && (socket->peer || socket->over_ns))
        return wp_messages_socket(messages, socket->peer) ? socket->peer : 0;
    if (!wp_intmap_get(&messages->by_address, wp_socket_key(entry, true, entry->netns), &peer) &&
        !wp_intmap_get(&messages->by_address, wp_socket_key(entry, true, 0), &peer))
        return 0;
    return peer == AMBIGUOUS || peer == id ? 0 : peer;
}

static bool is_datagram_socket(const struct wp_messages *messages, uint32_t id)
{
    const struct wp_socket_entry *entry = wp_dictionary_socket(messages->dictionary, id);
    return entry && entry->protocol == IPPROTO_UDP;
}

uint64_t wp_messages_position(const struct wp_messages *messages, uint32_t id, uint64_t position)
{
    if (!is_datagram_socket(messages, id))
        return position;
    uint64_t key = position & ~WP_DATAGRAM_ELSEWHERE, number = wp_messages_datagram_number(messages, key);
    return number ? number : key | WP_DATAGRAM_ELSEWHERE;
}

/*
 * The last send that supplied the byte before `position`, which arrived then. Positions grow with time, modulo 2^32, so
 * the search goes no further than they allow; a call may return, and be known, after its bytes arrived.
 */
static bool find_send(const struct wp_socket *socket, uint32_t position, uint64_t arrival_ns, struct wp_send *send)
{
    uint64_t i = sends_after(socket, arrival_ns);
    while (i < socket->send_ring.end && (int32_t)((uint32_t)send_at(socket, i)->end - position) < 0)
        i++;
    if (i < socket->send_ring.end)
        i++;
    for (; i > socket->send_ring.first; i--) {
        const struct wp_send *candidate = send_at(socket, i - 1);
        int32_t behind = (int32_t)((uint32_t)candidate->end - position);
        if (behind < 0)
            return false;
        if ((uint32_t)behind < candidate->bytes) {
            *send = *candidate;
            return true;
        }
    }
    return false;
}

bool wp_messages_sent(
    const struct wp_messages *messages, uint32_t id, uint32_t position, uint64_t arrival_ns, struct wp_send *send)
{
    const struct wp_socket *socket = wp_messages_socket(messages, id);
    if (!socket)
        return false;
    if (find_send(socket, position, arrival_ns, send))
        return true;
    /* Not data: the end of the stream, or the handshake. */
    if (socket->closing.time_ns && socket->closing.time_ns <= arrival_ns + WP_NS_PER_MS) {
        *send = (struct wp_send){.time_ns = socket->closing.time_ns, .thread = socket->closing.thread};
        return true;
    }
    if (socket->connecting.time_ns && socket->connecting.time_ns <= arrival_ns) {
        const struct wp_socket_act *act = &socket->connecting;
        *send = (struct wp_send){act->time_ns, act->end, socket->has_asked, act->thread};
        return true;
    }
    return false;
}

enum wp_match wp_messages_match(
    const struct wp_messages *messages, uint32_t id, uint64_t position, uint64_t arrival_ns, struct wp_send *send)
{
    if (is_datagram_socket(messages, id))
        return wp_messages_datagram(messages, position, send) ? WP_MATCH_FOUND : WP_MATCH_NO_PEER;
    uint32_t peer = wp_messages_peer(messages, id);
    if (!peer)
        return WP_MATCH_NO_PEER;
    return wp_messages_sent(messages, peer, (uint32_t)position, arrival_ns, send) ? WP_MATCH_FOUND : WP_MATCH_NO_SEND;
}

bool wp_messages_received(const struct wp_messages *messages, uint32_t id, uint64_t at_ns, struct wp_receive *receive)
{
    const struct wp_socket *socket = wp_messages_socket(messages, id);
    uint64_t i = socket ? receives_after(socket, at_ns) : 0;
    if (!socket || i == socket->receive_ring.first)
        return false;
    *receive = *receive_at(socket, i - 1);
    return true;
}

bool wp_messages_drained(const struct wp_messages *messages, uint32_t id, uint64_t at_ns, struct wp_send *read)
{
    const struct wp_socket *socket = wp_messages_socket(messages, id);
    if (!socket)
        return false;
    uint64_t i = receives_after(socket, at_ns + WP_NS_PER_MS); /* the call may return just after the window opened */
    if (i == socket->receive_ring.first)
        return false;
    const struct wp_receive *last = receive_at(socket, i - 1);
    *read = (struct wp_send){last->time_ns, last->end, 0, last->thread};
    return true;
}

bool wp_messages_last_send(const struct wp_messages *messages, uint32_t id, uint64_t before_ns, struct wp_send *send)
{
    const struct wp_socket *socket = wp_messages_socket(messages, id);
    if (!socket)
        return false;
    uint64_t i = sends_after(socket, before_ns);
    if (i == socket->send_ring.first)
        return false;
    *send = *send_at(socket, i - 1);
    return true;
}

uint64_t wp_messages_asked(const struct wp_messages *messages, uint32_t id, uint64_t before_ns)
{
    const struct wp_socket *socket = wp_messages_socket(messages, id);
    struct wp_send send;
    if (!socket || wp_messages_is_served(messages, socket, id))
        return 0;
    uint64_t connecting_ns = socket->connecting.time_ns; /* the other end may speak first */
    return wp_messages_last_send(messages, id, before_ns, &send) ? send.time_ns
        : connecting_ns < before_ns                              ? connecting_ns
                                                                 : 0;
}

bool wp_messages_answered(const struct wp_messages *messages, uint32_t id, uint64_t asked_ns, uint64_t until_ns)
{
    const struct wp_socket *socket = wp_messages_socket(messages, id);
    uint64_t i = socket ? receives_after(socket, asked_ns) : 0;
    struct wp_send send;
    if (!socket || i == socket->receive_ring.end || receive_at(socket, i)->time_ns > until_ns)
        return false;
    return wp_messages_last_send(messages, id, receive_at(socket, i)->time_ns, &send) && send.time_ns <= asked_ns;
}

bool wp_messages_taken(
    const struct wp_messages *messages, uint32_t id, uint32_t end, uint64_t sent_ns, struct wp_receive *read)
{
    const struct wp_socket *socket = wp_messages_socket(messages, id);
    if (!socket)
        return false;
    uint64_t i = receives_after(socket, sent_ns);
    while (i > socket->receive_ring.first && (int32_t)(receive_at(socket, i - 1)->end - end) >= 0)
        i--;
    while (i < socket->receive_ring.end && (int32_t)(receive_at(socket, i)->end - end) < 0)
        i++;
    if (i == socket->receive_ring.end)
        return false;
    *read = *receive_at(socket, i);
    return true;
}
