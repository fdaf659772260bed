/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_NET_H
#define WP_COLLECTOR_PERF_SCRIPT_PERF_SCRIPT_NET_H
/*
 * What a line about a socket says behind its event's name, as KEY=VALUE or KEY = VALUE in any order: tracepoints of tcp
 * and sock (include/trace/events/{tcp,sock}.h, Linux 4.16 to 6.18), and probes on functions of the kernel that have the
 * socket among their arguments. Known keys:
 * - the socket: sk, skaddr, "sk address" (address of its struct sock), sock_cookie
 * - its ends: src and dest; or saddr, sport, daddr, dport, saddrv6, daddrv6; or, in a probe, members of struct
 *   sock_common as they lie in memory (little endian machine): skc_family, skc_num, skc_dport, skc_daddr,
 *   skc_rcv_saddr, skc_v6_daddr0 and 1, skc_v6_rcv_saddr0 and 1
 * - bytes: length, data_len, size, bytes, len, copied
 * - protocol, family, oldstate, newstate
 */
#include "collector/perf_script/perf_script_text.h"
#include "proto/batch.h"

struct wp_perf_net {
    uint64_t sk, cookie; /* 0: not said */
    uint32_t bytes;
    bool has_bytes;
    uint8_t old_state, new_state; /* TCP_ESTABLISHED = 1 ...; 0: not said */
    /* Ports 0: not known. IPv4 in IPv6 is IPv4. protocol 0: not said, UINT8_MAX: neither TCP nor UDP. */
    struct wp_socket_entry entry;
};

/* False: it names no socket. */
bool wp_perf_net_parse(struct wp_text text, struct wp_perf_net *net);
/* Both ends have an address. */
static inline bool wp_perf_net_has_ends(const struct wp_socket_entry *entry)
{
    return entry->local_port && entry->remote_port;
}

#endif
