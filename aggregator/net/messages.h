/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_MESSAGES_H
#define WP_AGGREGATOR_NET_MESSAGES_H
/*
 * Messages of one host's sockets: what was sent, when and by whom, found by the receiver's socket and the stream
 * position (TCP: 32-bit sequence numbers, compared modulo 2^32 as RFC 9293 section 3.4 says) or by datagram key. Both
 * ends of a loopback connection are paired by their addresses and network namespace. Ambiguity matches nothing.
 */
#include "aggregator/net/messages_types.h"

/* Sockets that are forgotten are forgotten in `dictionary`, too, which is borrowed until wp_messages_fini(). Allocates
 * nothing and returns 0. */
int wp_messages_init(struct wp_messages *messages, struct wp_dictionary *dictionary);
/* Frees sockets, rings and replies, and zeroes the struct; zeroed is allowed. Dictionary and connections stay. */
void wp_messages_fini(struct wp_messages *messages);
/* A SOCK event, or WP_EVENT_LOCAL, in the order of time; `thread`: index of the task, 0 not known. Goes on to
 * `connections` where that is set. Out of memory: it is not remembered. */
void wp_messages_event(struct wp_messages *messages, const struct wp_event *event, uint32_t thread);

/* Forgets sockets that were over before `horizon_ns`, here and in the dictionary, what those remember that are half
 * closed since before it, and the replies before it. */
void wp_messages_forget(struct wp_messages *messages, uint64_t horizon_ns);
/* The thread of that index is gone. */
void wp_messages_forget_thread(struct wp_messages *messages, uint32_t thread);
/* What is held of memory. */
size_t wp_messages_bytes(const struct wp_messages *messages);
/* The other end on this host of socket `id`, or 0. */
uint32_t wp_messages_peer(const struct wp_messages *messages, uint32_t id);

/* What wp_messages_match wants to know of a message that just came to socket `id`: the stream position as it is, of a
 * datagram its number in place of its key (which may be used again); one that nobody here sent keeps its key, marked
 * so. */
uint64_t wp_messages_position(const struct wp_messages *messages, uint32_t id, uint64_t position_or_key);

/* --- one end of a connection; times are its own host's --- */

/* Who sent the byte before `position`, which arrived by `arrival_ns`, from socket `id`; or closed or opened the stream.
 */
bool wp_messages_sent(
    const struct wp_messages *messages, uint32_t id, uint32_t position, uint64_t arrival_ns, struct wp_send *send);
/* The last send before that. */
bool wp_messages_last_send(const struct wp_messages *messages, uint32_t id, uint64_t before_ns, struct wp_send *send);
/* When something was last sent before that on a connection which this end opened: it waits for an answer; 0: no such
 * thing. */
uint64_t wp_messages_asked(const struct wp_messages *messages, uint32_t id, uint64_t before_ns);
/* Was what was asked there by `asked_ns` answered in (asked_ns, until_ns], without having been asked again? */
bool wp_messages_answered(const struct wp_messages *messages, uint32_t id, uint64_t asked_ns, uint64_t until_ns);
/* The first read that took the byte before `end`, which was sent to `id` at about that time. */
bool wp_messages_taken(
    const struct wp_messages *messages, uint32_t id, uint32_t end, uint64_t sent_ns, struct wp_receive *read);
/* The last read from `id` at `at_ns` or before. */
bool wp_messages_received(const struct wp_messages *messages, uint32_t id, uint64_t at_ns, struct wp_receive *receive);
/* Who made room for a sender that waits at the other end: the last read from `id` before `at_ns`. */
bool wp_messages_drained(const struct wp_messages *messages, uint32_t id, uint64_t at_ns, struct wp_send *read);

/* --- a thread --- */

/* It has sent or read something over TCP or UDP, as far as is remembered. */
static inline bool wp_messages_has_part(const struct wp_messages *messages, uint32_t thread)
{
    return wp_idtable_has(&messages->last, thread) &&
        ((const struct wp_last_message *)messages->last.items)[thread].time_ns;
}

/* --- both ends on this host --- */

enum wp_match { WP_MATCH_FOUND, WP_MATCH_NO_PEER /* the other end is not on this host */, WP_MATCH_NO_SEND };
/* Who sent what arrived at socket `id` up to `position` at `arrival_ns`. */
enum wp_match wp_messages_match(
    const struct wp_messages *messages, uint32_t id, uint64_t position, uint64_t arrival_ns, struct wp_send *send);

#endif
