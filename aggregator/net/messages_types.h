/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_MESSAGES_TYPES_H
#define WP_AGGREGATOR_NET_MESSAGES_TYPES_H
/* What is known of messages (messages.h): sockets with their sends, receives and arrivals. */
#include "aggregator/net/acts.h"
#include "aggregator/net/arrivals.h"
#include "aggregator/net/asked.h"
#include "aggregator/net/reads.h"
#include "aggregator/net/turns.h"
#include "common/idtable.h"
#include "common/intmap.h"
#include "proto/dictionary.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_send {
    uint64_t time_ns; /* when the call returned (data may have arrived before that) */
    uint64_t end;     /* position behind the last byte, or datagram key */
    uint32_t bytes;
    uint32_t thread; /* index */
};

struct wp_receive {
    uint64_t time_ns;
    uint64_t others_ns;  /* when its thread last sent or received on another socket before this, or 0 */
    uint64_t arrived_ns; /* when the last byte read had arrived; 0 unknown */
    uint32_t end;        /* position behind the last byte read */
    uint32_t thread;
};

struct wp_socket_act { /* of a thread; time 0: not yet */
    uint64_t time_ns;
    uint32_t thread, end; /* end: position behind its last byte */
};

/* There are as many as connections were open within the history: what it takes is a matter of hundreds of megabytes. */
struct wp_socket {
    struct wp_send *sends;       /* owned, made at the first send */
    struct wp_receive *receives; /* owned */
    struct wp_arrivals arrivals; /* gone when it is over and all of it is read */
    struct wp_message_ring send_ring, receive_ring;
    struct wp_socket_act closing;    /* who closed or shut it down, and when */
    struct wp_socket_act connecting; /* who asked for the connection */
    uint64_t opened_ns;              /* when it was established, 0 unknown */
    uint64_t ended_ns;               /* the other end sends nothing more since then, 0: it may */
    uint64_t over_ns;                /* nothing comes of it any more since then, 0: it may */
    uint64_t listed_ns;              /* in the list of those that may be forgotten, since then; 0: it is not */
    uint32_t next_closed;            /* the one behind it there, 0 none */
    uint32_t peer;                   /* the other end on this host, found when one of them was over; 0 none */
    bool has_asked;                  /* its connection request was seen to be sent: one byte */
    uint8_t opener;                  /* enum wp_opener */
    uint8_t asker;                   /* the same: which end asks, where it is known that it is not who opened it */
    bool is_judged;                  /* who asks has been found out */
};

/* The first send on a connection that others opened, after something was read there: a reply begins to leave. */
struct wp_reply {
    uint64_t time_ns;
    uint64_t read_ns;    /* when the request began to be read: the first read since the send before */
    uint64_t arrived_ns; /* when what that read took had arrived; read_ns when that is not known */
    uint32_t socket, thread;
    uint32_t reader; /* the thread that began to read it, 0 unknown */
};

/* Where a thread last sent or received, and when it last did so on a socket other than that. */
struct wp_last_message {
    uint64_t time_ns, others_ns;
    uint32_t socket;
};

struct wp_connections;

struct wp_messages {
    struct wp_dictionary *dictionary;   /* borrowed */
    struct wp_connections *connections; /* of all hosts, borrowed; NULL: this host is alone */
    uint32_t host;                      /* its number there */
    struct wp_idtable last;             /* struct wp_last_message by thread index */
    struct wp_idtable table;            /* struct wp_socket by dictionary id; of datagram sockets nothing is kept */
    uint32_t first_closed, last_closed; /* list of those that closed, in the order of time; 0 none */
    size_t ring_bytes;                  /* of sends, receives and arrivals */
    struct wp_intmap
        by_address; /* hash of (addresses, ports, protocol, namespace) -> socket id, of those that are not over */
    struct wp_intmap datagrams;    /* key -> low half of the datagram's number */
    struct wp_send *datagram_ring; /* owned; of datagram number n at n - 1 */
    uint64_t *datagram_before;     /* number of the one before it with the same key, 0 none; owned */
    uint64_t datagram_count;
    uint32_t datagram_room;             /* of both; a power of two */
    struct wp_idtable datagram_sockets; /* by dictionary id the generation, 1 or 2, that it was used in last */
    uint32_t datagram_recent;           /* that were used in this one ... */
    uint8_t datagram_generation;        /* ... which is it */
    struct wp_asked asked;              /* by thread index */
    struct wp_turns turns;
    struct wp_reads reads;
    struct wp_acts acts;
    uint64_t matched, unmatched;
    uint64_t window_ns;       /* when the recording last went on: 0: it never paused */
    struct wp_reply *replies; /* in the order of time, owned; kept as long as the closed sockets */
    uint32_t reply_first, reply_end, reply_room;
};
/* Of a datagram's position: its key, since nobody here sent it. */
#define WP_DATAGRAM_ELSEWHERE ((uint64_t)1 << 63)

/* NULL: no event of such a socket came, or it is forgotten. */
static inline const struct wp_socket *wp_messages_socket(const struct wp_messages *messages, uint32_t id)
{
    return wp_idtable_has(&messages->table, id) ? (const struct wp_socket *)messages->table.items + id : NULL;
}

#endif
