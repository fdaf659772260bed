/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/message_replies.h"

#include "common/array.h"

#include <string.h>

#define REPLY_LIMIT (1u << 20)

static struct wp_reply *new_reply(struct wp_messages *messages)
{
    if (messages->reply_first > messages->reply_room / 2) {
        messages->reply_end -= messages->reply_first;
        memmove(messages->replies, messages->replies + messages->reply_first,
            messages->reply_end * sizeof(*messages->replies));
        messages->reply_first = 0;
    }
    if (messages->reply_end >= REPLY_LIMIT ||
        WP_ARRAY_FIT(messages->replies, messages->reply_room, messages->reply_end + 1))
        return NULL;
    return &messages->replies[messages->reply_end++];
}

/* Of what was read before the recording paused nobody knows whether it was answered meanwhile. */
static bool is_after(const struct wp_messages *messages, const struct wp_receive *read, uint64_t sent_ns)
{
    return read->time_ns > sent_ns && read->time_ns >= messages->window_ns;
}

void wp_messages_note_reply(
    struct wp_messages *messages, const struct wp_socket *socket, const struct wp_event *event, uint32_t thread)
{
    const struct wp_message_ring *ring = &socket->receive_ring, *sent = &socket->send_ring;
    uint64_t i = ring->end, first = i;
    uint64_t before = sent->end > sent->first ? socket->sends[(sent->end - 1) & sent->mask].time_ns : 0;
    for (; i > ring->first && is_after(messages, &socket->receives[(i - 1) & ring->mask], before); i--)
        first = i - 1;
    if (first == ring->end)
        return;
    const struct wp_receive *read = &socket->receives[first & ring->mask];
    bool has_arrived = read->arrived_ns && read->arrived_ns <= read->time_ns && read->arrived_ns > before;
    if (has_arrived && read->arrived_ns < messages->window_ns)
        return;
    struct wp_reply *reply = new_reply(messages);
    if (reply)
        *reply = (struct wp_reply){event->time_ns, read->time_ns, has_arrived ? read->arrived_ns : read->time_ns,
            event->d, thread, read->thread};
}
