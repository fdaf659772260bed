/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/owed.h"

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

bool wp_owed_by(const struct wp_messages *messages, uint32_t thread, uint64_t before_ns)
{
    struct wp_reads_back back = wp_reads_before(&messages->reads, thread, before_ns);
    const struct wp_read *read = wp_reads_previous(&back);
    for (unsigned i = 0; read && i < READS; i++, read = wp_reads_previous(&back)) {
        const struct wp_socket *socket = wp_messages_socket(messages, read->socket); /* NULL: of datagrams */
        if (socket && !is_over(socket, before_ns) && !is_answered(messages, read->socket, read->time_ns, before_ns))
            return true;
    }
    return false;
}
