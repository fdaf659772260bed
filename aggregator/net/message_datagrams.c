/* SPDX-License-Identifier: Apache-2.0 */
/* Datagrams that were sent, found by their keys. */
#include "aggregator/net/message_datagrams.h"

#include "aggregator/net/connections.h"
#include "common/array.h"

#include <netinet/in.h>

#define DATAGRAMS 16384u
#define SOCKETS                                                                                                        \
    (1u << 17) /* as many as a collector knows by their ids (socket_table.c): what is forgotten it defines anew */

/* Most hosts send few datagrams or none: the ring is made at the first one and doubles until it is full, before it goes
 * round. */
static bool make_datagram_room(struct wp_messages *messages)
{
    if (messages->datagram_count < messages->datagram_room || messages->datagram_room == DATAGRAMS)
        return true;
    uint32_t room = messages->datagram_room, wanted = room + 1;
    return !WP_ARRAY_FIT(messages->datagram_ring, room, wanted) &&
        !WP_ARRAY_FIT(messages->datagram_before, messages->datagram_room, wanted);
}

static void add_datagram(struct wp_messages *messages, const struct wp_event *event, uint32_t thread)
{
    if (!make_datagram_room(messages))
        return;
    if (messages->datagrams.count > DATAGRAMS)
        wp_intmap_clear(&messages->datagrams);
    uint64_t n = messages->datagram_count, key = event->a & ~WP_DATAGRAM_ELSEWHERE;
    uint64_t before = wp_messages_datagram_number(messages, key);
    messages->datagram_ring[n % DATAGRAMS] = (struct wp_send){event->time_ns, key, event->c, thread};
    messages->datagram_before[n % DATAGRAMS] = before;
    messages->datagram_count++;
    wp_intmap_put(&messages->datagrams, (struct wp_intkey){key, 0}, (uint32_t)n);
    if (messages->connections)
        wp_connections_datagram(messages->connections, key, messages->host);
}

/* From another host? Then the two talk. */
static void take_datagram(struct wp_messages *messages, const struct wp_event *event)
{
    uint64_t key = event->a & ~WP_DATAGRAM_ELSEWHERE;
    if (messages->connections && !wp_messages_datagram_number(messages, key))
        wp_connections_datagram_taken(messages->connections, key, messages->host);
}

/* What has not been used in this generation nor in the one before. */
static void forget_sockets(struct wp_messages *messages)
{
    struct wp_idtable *table = &messages->datagram_sockets;
    for (uint32_t id = 0; id < table->room; id++) {
        if (!wp_idtable_has(table, id) || ((uint8_t *)table->items)[id] == messages->datagram_generation)
            continue;
        wp_idtable_drop(table, id);
        wp_dictionary_forget_socket(messages->dictionary, id);
    }
    messages->datagram_generation ^= 3;
    messages->datagram_recent = 0;
}

static void use_socket(struct wp_messages *messages, uint32_t id)
{
    struct wp_idtable *table = &messages->datagram_sockets;
    if (wp_idtable_has(table, id) && ((uint8_t *)table->items)[id] == messages->datagram_generation)
        return;
    const struct wp_socket_entry *entry = wp_dictionary_socket(messages->dictionary, id);
    if (!entry || entry->protocol != IPPROTO_UDP) /* whatever the event says: a stream's entry is not ours to forget */
        return;
    if (messages->datagram_recent == SOCKETS)
        forget_sockets(messages);
    if (wp_idtable_reserve(table, id))
        return;
    wp_idtable_use(table, id);
    ((uint8_t *)table->items)[id] = messages->datagram_generation;
    messages->datagram_recent++;
}

void wp_messages_keep_datagram_sockets(struct wp_messages *messages)
{
    struct wp_idtable *table = &messages->datagram_sockets;
    for (uint32_t id = wp_dictionary_socket_count(messages->dictionary); id; id--) {
        const struct wp_socket_entry *entry = wp_dictionary_socket(messages->dictionary, id);
        if (!entry || entry->protocol != IPPROTO_UDP || wp_idtable_reserve(table, id))
            continue;
        wp_idtable_use(table, id);
        ((uint8_t *)table->items)[id] = messages->datagram_generation ^ 3;
    }
}

void wp_messages_datagram_event(struct wp_messages *messages, const struct wp_event *event, uint32_t thread)
{
    use_socket(messages, event->d);
    if (event->kind == WP_EVENT_SOCK_SEND)
        add_datagram(messages, event, thread);
    if (event->kind == WP_EVENT_SOCK_ARRIVE)
        take_datagram(messages, event);
}

uint64_t wp_messages_datagram_number(const struct wp_messages *messages, uint64_t key)
{
    uint32_t low;
    if (!wp_intmap_get(&messages->datagrams, (struct wp_intkey){key, 0}, &low))
        return 0;
    const uint64_t last = messages->datagram_count - 1;
    return messages->datagram_ring[low % DATAGRAMS].end == key ? last - ((last - low) % DATAGRAMS) + 1 : 0;
}

bool wp_messages_datagram(const struct wp_messages *messages, uint64_t number, struct wp_send *send)
{
    if (!number || number > messages->datagram_count || messages->datagram_count - number >= DATAGRAMS)
        return false;
    *send = messages->datagram_ring[(number - 1) % DATAGRAMS];
    return true;
}

bool wp_messages_datagram_by(const struct wp_messages *messages, uint64_t key, uint64_t at_ns, struct wp_send *send)
{
    uint64_t number = wp_messages_datagram_number(messages, key);
    for (unsigned tries = 0; tries < DATAGRAMS && wp_messages_datagram(messages, number, send); tries++) {
        if (send->time_ns <= at_ns)
            return true;
        number = messages->datagram_before[(number - 1) % DATAGRAMS];
    }
    return false;
}

bool wp_messages_datagrams_of(const struct wp_messages *messages, uint32_t thread, uint64_t from_ns, uint64_t to_ns)
{
    const struct wp_send *ring = messages->datagram_ring;
    uint64_t end = messages->datagram_count, first = end > DATAGRAMS ? end - DATAGRAMS : 0;
    uint64_t n = WP_LOWER_BOUND(middle, first, end, ring[middle % DATAGRAMS].time_ns < from_ns);
    for (; n < end && ring[n % DATAGRAMS].time_ns <= to_ns; n++)
        if (ring[n % DATAGRAMS].thread == thread)
            return true;
    return false;
}

uint32_t wp_messages_datagram_sender(const struct wp_messages *messages, uint32_t socket, uint64_t position)
{
    const struct wp_socket_entry *entry = wp_dictionary_socket(messages->dictionary, socket);
    struct wp_send send;
    bool is_datagram = entry && entry->protocol == IPPROTO_UDP && !(position & WP_DATAGRAM_ELSEWHERE);
    return is_datagram && wp_messages_datagram(messages, position, &send) ? send.thread : 0;
}
