/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_SOCKETS_H
#define WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_SOCKETS_H
/*
 * Sockets by whatever a line calls them: the address of the kernel's struct, a cookie, or both ends' addresses. The
 * text has no stream positions; they are made here, so that what arrived is matched to the last send of the other end
 * before it, where that is on this host. A send that is told when its call returned (sock_send_length) counts bytes
 * instead. A datagram has a key that its sender's line makes. Bounded: of more than WP_PERF_SOCKETS the one that came
 * up first is forgotten. Not thread safe.
 */
#include "collector/perf_script/perf_script_net.h"
#include "common/intmap.h"
#include "proto/event.h"

#define WP_PERF_SOCKETS 65536u

struct wp_perf_socket {
    uint64_t key;                 /* of facts; another one once the ends are known; 0: a free row */
    struct wp_socket_entry entry; /* protocol TCP or UDP */
    uint64_t sk, cookie;          /* 0: not known */
    uint32_t sent, arrived, read; /* stream positions, from 0 */
    bool has_sent, is_late;       /* a send was seen; they are told when their calls returned */
    bool is_closed;
    uint64_t datagram, datagram_sent; /* keys of the last one that arrived and was sent; 0: not known */
};

/* Embedded: init with {0}. */
struct wp_perf_sockets {
    struct wp_perf_socket *rows; /* owned; numbered from 1, row 0 is none */
    uint32_t count, room, next;  /* next: to be forgotten when all are taken */
    struct wp_intmap by_sk, by_cookie, by_ends;
    uint64_t last_key;
};

/* Zeroed is allowed, and it can be used again. */
void wp_perf_sockets_fini(struct wp_perf_sockets *sockets);
/* The number of the socket that a line names, which is made if need be; protocol: IPPROTO_* unless the line says it. 0:
 * of neither protocol. -ENOMEM through *rc. */
uint32_t wp_perf_sockets_of(struct wp_perf_sockets *sockets, const struct wp_perf_net *net, uint8_t protocol, int *rc);
/* The same, but 0 where the socket is not known yet. */
uint32_t wp_perf_sockets_find(const struct wp_perf_sockets *sockets, const struct wp_perf_net *net);
/* Its other end, where that is on this host and known; 0: none. */
uint32_t wp_perf_sockets_peer(const struct wp_perf_sockets *sockets, uint32_t socket);
/* Another connection begins there: of the same ends, or by the same struct with ends that are not known yet. */
void wp_perf_sockets_renew(struct wp_perf_sockets *sockets, uint32_t socket, bool keeps_ends);

/* A stream's bytes: what the fact says of them. False: nothing new. */
bool wp_perf_sockets_send(struct wp_perf_sockets *sockets, uint32_t socket, const struct wp_perf_net *net, bool is_late,
    struct wp_event *event);
/* The same of bytes that arrive there. */
bool wp_perf_sockets_arrive(
    struct wp_perf_sockets *sockets, uint32_t socket, const struct wp_perf_net *net, struct wp_event *event);
/* All that has arrived was read. */
bool wp_perf_sockets_read(struct wp_perf_sockets *sockets, uint32_t socket, struct wp_event *event);
/* A key for the datagram that is sent now. */
uint64_t wp_perf_sockets_datagram(struct wp_perf_sockets *sockets, uint32_t socket, uint64_t time_ns);

/* Does a packet for it come from another host, as far as its addresses say? False also where they say nothing. */
bool wp_perf_socket_is_far(const struct wp_perf_socket *socket);

#endif
