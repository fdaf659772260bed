/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_MESSAGE_DATAGRAMS_H
#define WP_AGGREGATOR_NET_MESSAGE_DATAGRAMS_H
/* Datagrams of one host: sent and received, found by their key. */
#include "aggregator/net/messages_types.h"

/* One event of a datagram socket, for wp_messages_event(); `thread` is the sender's index. Out of memory: what was sent
 * is not found later. */
void wp_messages_datagram_event(struct wp_messages *messages, const struct wp_event *event, uint32_t thread);
/* After a restart: those that the dictionary has count as used, though not lately. */
void wp_messages_keep_datagram_sockets(struct wp_messages *messages);
uint64_t wp_messages_datagram_number(const struct wp_messages *messages, uint64_t key); /* 0: not sent here lately */
/* The datagram with that number; false: 0, or 16,384 or more were sent here since. */
bool wp_messages_datagram(const struct wp_messages *messages, uint64_t number, struct wp_send *send);
/* The last one with that key that was sent by then. */
bool wp_messages_datagram_by(const struct wp_messages *messages, uint64_t key, uint64_t at_ns, struct wp_send *send);
/* Did the thread send any in [from_ns, to_ns]? */
bool wp_messages_datagrams_of(const struct wp_messages *messages, uint32_t thread, uint64_t from_ns, uint64_t to_ns);
/* Whose thread of this host sent what arrived at that socket, `position` as wp_messages_position() has it; 0: it is no
 * datagram, or its sender is not known. */
uint32_t wp_messages_datagram_sender(const struct wp_messages *messages, uint32_t socket, uint64_t position);

#endif
