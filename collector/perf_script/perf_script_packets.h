/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_PACKETS_H
#define WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_PACKETS_H
/*
 * Network operations from lines about sockets: what is sent, arrives and is read, and which wakings a packet's arrival
 * made. A waking is a message when its stack is a packet's way to a socket, when the last packet of that protocol on
 * the processor arrived at most WP_PERF_PACKET_NS before, and when its sender is known or is on another host. Else the
 * stack alone decides: over loopback the sender's own doing, else a soft interrupt.
 */
#include "collector/perf_script/perf_script_cause.h"
#include "collector/perf_script/perf_script_sockets.h"
#include "collector/perf_script/perf_script_trace.h"

#define WP_PERF_PACKET_NS 1000000u

/* What the network did last on one processor. Embedded: init with {0}. */
struct wp_perf_packets {
    uint32_t socket; /* where a packet arrived; 0: none */
    uint32_t sender; /* thread that sent the last datagram there */
    uint64_t key, arrived_ns;
    uint64_t datagram, sent_ns;
};

/* A line about a socket. */
struct wp_perf_packet {
    enum wp_perf_kind kind; /* WP_PERF_TCP_*, UDP_*, SOCK_* */
    const struct wp_perf_net *net;
    const struct wp_perf_received *received; /* UDP_ARRIVE: its way; NULL: no stack says it */
};

/* Fills the fact, whose time and thread are set. 1; 0: there is none; -ENOMEM. */
int wp_perf_packets_event(struct wp_perf_packets *packets, struct wp_perf_sockets *sockets,
    const struct wp_perf_packet *packet, struct wp_fact *fact);
/* Makes a message of a waking that a packet made. */
void wp_perf_packets_waking(const struct wp_perf_packets *packets, const struct wp_perf_sockets *sockets,
    const struct wp_perf_received *received, struct wp_fact *fact);

#endif
