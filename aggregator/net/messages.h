/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_MESSAGES_H
#define WP_AGGREGATOR_NET_MESSAGES_H
/*
 * Messages of one host's sockets: what was sent, when and by whom, found by the receiver's socket and the stream position
 * (TCP: 32-bit sequence numbers, compared modulo 2^32 as RFC 9293 section 3.4 says) or by datagram key. Both ends of a
 * loopback connection are paired by their addresses and network namespace. Ambiguity matches nothing.
 */
#include "aggregator/net/asked.h"
#include "common/idtable.h"
#include "common/intmap.h"
#include "proto/dictionary.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_send {
    uint64_t time_ns;      /* when the call returned (data may have arrived before that) */
    uint64_t end;          /* position behind the last byte, or datagram key */
    uint32_t bytes;
    uint32_t thread;       /* index */
};

struct wp_receive {
    uint64_t time_ns;
    uint64_t others_ns;    /* when its thread last sent or received on another socket before this, or 0 */
    uint64_t arrived_ns;   /* when the last byte read had arrived; 0 unknown */
    uint32_t end;          /* position behind the last byte read */
    uint32_t thread;
};

#define WP_ARRIVALS 16u /* of a socket, remembered until they are read */

struct wp_arrival {
    uint64_t time_ns;
    uint32_t end;          /* position behind the last byte */
};

enum wp_opener { WP_OPENER_UNKNOWN, WP_OPENER_HERE, WP_OPENER_THERE }; /* which end asked for the connection */

struct wp_socket {
    struct wp_send *sends;       /* owned, made at the first send */
    struct wp_receive *receives; /* owned */
    struct wp_arrival *arrivals; /* ring of the last few, owned, made at the first one */
    uint32_t arrival_count;
    struct wp_message_ring send_ring, receive_ring;
    struct wp_send closing;      /* who closed or shut it down, and when; time 0: not yet */
    struct wp_send connecting;   /* who asked for the connection */
    uint64_t opened_ns;          /* when it was established, 0 unknown */
    uint64_t over_ns;            /* nothing comes of it any more since then, 0: it may */
    uint64_t listed_ns;          /* in the list of those that may be forgotten, since then; 0: it is not */
    uint32_t next_closed;        /* the one behind it there, 0 none */
    uint8_t opener;              /* enum wp_opener */
};

/* The first send on a connection that others opened, after something was read there: a reply begins to leave. */
struct wp_reply {
    uint64_t time_ns;
    uint64_t read_ns;      /* when the request began to be read: the first read since the send before */
    uint64_t arrived_ns;   /* when what that read took had arrived; read_ns when that is not known */
    uint32_t socket, thread;
};

/* Where a thread last sent or received, and when it last did so on a socket other than that. */
struct wp_last_message {
    uint64_t time_ns, others_ns;
    uint32_t socket;
};

struct wp_connections;

struct wp_messages {
    struct wp_dictionary *dictionary;       /* borrowed */
    struct wp_connections *connections;     /* of all hosts, borrowed; NULL: this host is alone */
    uint32_t host;               /* its number there */
    struct wp_idtable last;      /* struct wp_last_message by thread index */
    struct wp_idtable table;     /* struct wp_socket by dictionary id; of datagram sockets nothing is kept */
    uint32_t first_closed, last_closed; /* list of those that closed, in the order of time; 0 none */
    size_t ring_bytes;           /* of sends, receives and arrivals */
    struct wp_intmap by_address; /* hash of (addresses, ports, protocol, namespace) -> socket id */
    struct wp_intmap datagrams;  /* key -> low half of the datagram's number */
    struct wp_send *datagram_ring; /* owned; of datagram number n at n - 1 */
    uint64_t *datagram_before;   /* number of the one before it with the same key, 0 none; owned */
    uint64_t datagram_count;
    uint32_t datagram_room;      /* of both; a power of two */
    struct wp_asked asked;       /* by thread index */
    uint64_t matched, unmatched;
    struct wp_reply *replies;    /* in the order of time, owned; kept as long as the closed sockets */
    uint32_t reply_first, reply_end, reply_room;
};

int wp_messages_init(struct wp_messages *messages, struct wp_dictionary *dictionary);
void wp_messages_fini(struct wp_messages *messages);
void wp_messages_event(struct wp_messages *messages, const struct wp_event *event, uint32_t thread);
/* --- for messages.c --- */
void wp_messages_datagram_event(struct wp_messages *messages, const struct wp_event *event, uint32_t thread);

/* Forgets sockets that were over before `horizon_ns`, here and in the dictionary, what those remember that are half closed since
 * before it, and the replies before it. */
void wp_messages_forget(struct wp_messages *messages, uint64_t horizon_ns);
/* The thread of that index is gone. */
void wp_messages_forget_thread(struct wp_messages *messages, uint32_t thread);
/* NULL: no event of such a socket came, or it is forgotten. */
static inline const struct wp_socket *wp_messages_socket(const struct wp_messages *messages, uint32_t id)
{
    return wp_idtable_has(&messages->table, id) ? (const struct wp_socket *)messages->table.items + id : NULL;
}
/* What is held of memory. */
size_t wp_messages_bytes(const struct wp_messages *messages);
/* The other end on this host of socket `id`, or 0. */
uint32_t wp_messages_peer(const struct wp_messages *messages, uint32_t id);

/* What wp_messages_match wants to know of a message that just came to socket `id`: the stream position as it is, of a
 * datagram its number in place of its key (which may be used again); one that nobody here sent keeps its key, marked so. */
#define WP_DATAGRAM_ELSEWHERE ((uint64_t)1 << 63)
uint64_t wp_messages_position(const struct wp_messages *messages, uint32_t id, uint64_t position_or_key);
uint64_t wp_messages_datagram_number(const struct wp_messages *messages, uint64_t key); /* 0: not sent here lately */
bool wp_messages_datagram(const struct wp_messages *messages, uint64_t number, struct wp_send *send);
/* The last one with that key that was sent by then. */
bool wp_messages_datagram_by(const struct wp_messages *messages, uint64_t key, uint64_t at_ns, struct wp_send *send);

/* --- one end of a connection; times are its own host's --- */

/* Who sent the byte before `position`, which arrived by `arrival_ns`, from socket `id`; or closed or opened the stream. */
bool wp_messages_sent(const struct wp_messages *messages, uint32_t id, uint32_t position, uint64_t arrival_ns,
    struct wp_send *send);
enum wp_opener wp_messages_opener(const struct wp_messages *messages, uint32_t id);
/* The last send before that. */
bool wp_messages_last_send(const struct wp_messages *messages, uint32_t id, uint64_t before_ns, struct wp_send *send);
/* When something was last sent before that on a connection which this end opened: it waits for an answer; 0: no such thing. */
uint64_t wp_messages_asked(const struct wp_messages *messages, uint32_t id, uint64_t before_ns);
/* The first read that took the byte before `end`, which was sent to `id` at about that time. */
bool wp_messages_taken(const struct wp_messages *messages, uint32_t id, uint32_t end, uint64_t sent_ns,
    struct wp_receive *read);
/* Who made room for a sender that waits at the other end: the last read from `id` before `at_ns`. */
bool wp_messages_drained(const struct wp_messages *messages, uint32_t id, uint64_t at_ns, struct wp_send *read);

/* --- both ends on this host --- */

enum wp_match { WP_MATCH_FOUND, WP_MATCH_NO_PEER /* the other end is not on this host */, WP_MATCH_NO_SEND };
/* Who sent what arrived at socket `id` up to `position` at `arrival_ns`. */
enum wp_match wp_messages_match(const struct wp_messages *messages, uint32_t id, uint64_t position, uint64_t arrival_ns,
    struct wp_send *send);
/* When the other end's application read the last bytes that `id`'s side had sent before `before_ns`: the request behind
 * an answer. False when unknown. */
bool wp_messages_request(const struct wp_messages *messages, uint32_t id, uint64_t before_ns, struct wp_send *request,
    struct wp_receive *read);

#endif
