/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/owed.h"

#include "aggregator/net/message_roles.h"
#include "aggregator/net/messages.h"

#define READS 32u /* that are looked at for one which is owed an answer */

static bool is_over(const struct wp_socket *socket, uint64_t at_ns)
{
    return (socket->ended_ns && socket->ended_ns <= at_ns) || (socket->over_ns && socket->over_ns <= at_ns);
}

static bool is_answered(const struct wp_messages *messages, uint32_t id, uint64_t read_ns, uint64_t before_ns)
{
    struct wp_send sent;
    return wp_messages_last_send(messages, id, before_ns, &sent) && sent.time_ns >= read_ns;
}

bool wp_owed_nothing(const struct wp_messages *messages, uint32_t id, uint64_t at_ns)
{
    const struct wp_socket *socket = wp_messages_socket(messages, id);
    struct wp_receive last;
    if (!socket || is_over(socket, at_ns) || !wp_messages_is_served(messages, socket, id))
        return false;
    return !wp_messages_received(messages, id, at_ns, &last) || is_answered(messages, id, last.time_ns, at_ns);
}

bool wp_owed_ever(const struct wp_messages *messages, uint32_t thread, uint64_t before_ns)
{
    struct wp_reads_back back = wp_reads_before(&messages->reads, thread, before_ns);
    return wp_reads_previous(&back);
}

bool wp_owed_over_streams(const struct wp_messages *messages, uint32_t thread, uint64_t before_ns)
{
    struct wp_reads_back back = wp_reads_before(&messages->reads, thread, before_ns);
    const struct wp_read *read = wp_reads_previous(&back);
    for (unsigned i = 0; read && i < READS; i++, read = wp_reads_previous(&back))
        if (wp_messages_socket(messages, read->socket)) /* NULL: of datagrams */
            return true;
    return false;
}

/* The connection, another one than that; 0: none. */
static uint32_t owed_by(const struct wp_messages *messages, uint32_t thread, uint64_t before_ns, uint32_t but)
{
    struct wp_reads_back back = wp_reads_before(&messages->reads, thread, before_ns);
    const struct wp_read *read = wp_reads_previous(&back);
    for (unsigned i = 0; read && i < READS; i++, read = wp_reads_previous(&back)) {
        const struct wp_socket *socket = wp_messages_socket(messages, read->socket); /* NULL: of datagrams */
        if (socket && read->socket != but && !is_over(socket, before_ns) &&
            !is_answered(messages, read->socket, read->time_ns, before_ns))
            return read->socket;
    }
    return 0;
}

bool wp_owed_by(const struct wp_messages *messages, uint32_t thread, uint64_t before_ns)
{
    return owed_by(messages, thread, before_ns, 0);
}

bool wp_owed_by_several(const struct wp_messages *messages, uint32_t thread, uint64_t before_ns)
{
    uint32_t one = owed_by(messages, thread, before_ns, 0);
    return one && owed_by(messages, thread, before_ns, one);
}

/* --- when it is answered --- */

bool wp_owed_sent(const struct wp_messages *messages, uint32_t id, uint64_t since_ns, struct wp_send *send)
{
    const struct wp_socket *socket = wp_messages_socket(messages, id);
    uint32_t i =
        socket ? wp_message_ring_after(socket->sends, &socket->send_ring, sizeof(*socket->sends), since_ns) : 0;
    if (!socket || i == socket->send_ring.end)
        return false;
    *send = socket->sends[i & socket->send_ring.mask];
    return true;
}

/* Streams go one way, too: what is read there is no request. */
static bool is_request(const struct wp_messages *messages, uint32_t thread, const struct wp_read *read)
{
    const struct wp_message_ring *ring = &wp_messages_socket(messages, read->socket)->receive_ring;
    struct wp_send last;
    if (wp_messages_last_send(messages, read->socket, read->time_ns, &last))
        return last.thread == thread;
    return ring->end - ring->first == 1;
}

bool wp_owed_first(
    const struct wp_messages *messages, uint32_t thread, uint64_t before_ns, uint64_t until_ns, struct wp_owed *owed)
{
    struct wp_reads_back back = wp_reads_before(&messages->reads, thread, before_ns);
    const struct wp_read *read = wp_reads_previous(&back);
    struct wp_owed first = {.sent_ns = UINT64_MAX};
    bool is_open = false;
    for (unsigned i = 0; read && i < READS; i++, read = wp_reads_previous(&back)) {
        const struct wp_socket *socket = wp_messages_socket(messages, read->socket);
        struct wp_send send;
        if (!socket || is_over(socket, before_ns) || is_answered(messages, read->socket, read->time_ns, before_ns))
            continue;
        if (!wp_owed_sent(messages, read->socket, before_ns, &send) || send.time_ns > until_ns)
            is_open = is_open || is_request(messages, thread, read);
        else if (send.thread == thread && send.time_ns < first.sent_ns)
            first = (struct wp_owed){send.time_ns, read->socket};
    }
    if (!first.socket && !is_open)
        return false;
    *owed = first.socket ? first : (struct wp_owed){0};
    return true;
}
