/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_DATAGRAM_H
#define WP_COLLECTOR_BPF_DATAGRAM_H
/* What a UDP datagram is called at both of its ends, from its headers, and which one comes. */
#include "cause.h"

#include <bpf/bpf_endian.h>

#define AF_INET 2
#define AF_INET6 10
#define IPPROTO_UDP 17

struct headers {
    __u64 key;
    __u16 source, destination; /* ports, host order */
};

/* Does its header say that it is one of UDP? */
static __always_inline bool is_datagram(const struct sk_buff *skb)
{
    unsigned char *header = skb->head + skb->network_header;
    if (skb->protocol == bpf_htons(0x0800))
        return GET(iphdr, header, protocol) == IPPROTO_UDP;
    return skb->protocol == bpf_htons(0x86dd) && GET(ipv6hdr, header, nexthdr) == IPPROTO_UDP;
}

/* A UDP datagram's name, the same where it leaves and where it arrives: addresses, ports, length and the
 * identification of IPv4.
 */
static __always_inline bool name_datagram(struct sk_buff *skb, struct headers *out)
{
    unsigned char *head = skb->head;
    __u16 network = skb->network_header;
    struct {
        __u8 version_ihl, tos;
        __be16 total, id, fragment;
        __u8 ttl, protocol;
        __be16 check;
        __u8 address[8];
    } v4;
    struct {
        __be32 flow;
        __be16 length;
        __u8 next, hops;
        __u8 address[32];
    } v6;
    struct {
        __be16 source, destination, length, check;
    } udp;
    __u64 h = 0;
    __u32 offset = network;
    if (!is_datagram(skb))
        return false;
    if (skb->protocol == bpf_htons(0x0800)) {
        if (bpf_probe_read_kernel(&v4, sizeof(v4), head + network) || v4.protocol != IPPROTO_UDP)
            return false;
        __u64 addresses;
        __builtin_memcpy(&addresses, v4.address, 8);
        h = mix(mix(AF_INET, addresses), v4.id);
        offset += (v4.version_ihl & 15u) * 4;
    } else {
        if (bpf_probe_read_kernel(&v6, sizeof(v6), head + network) || v6.next != IPPROTO_UDP)
            return false;
        __u64 words[4];
        __builtin_memcpy(words, v6.address, 32);
        h = mix(mix(mix(mix(AF_INET6, words[0]), words[1]), words[2]), words[3]);
        offset += 40;
    }
    if (bpf_probe_read_kernel(&udp, sizeof(udp), head + offset))
        return false;
    out->source = bpf_ntohs(udp.source);
    out->destination = bpf_ntohs(udp.destination);
    out->key = mix(h, (__u64)udp.source << 32 | (__u32)udp.destination << 16 | udp.length);
    return true;
}

/* The datagram that was put into the socket's queue last; 0: somebody has taken it already, and so did not wait. */
static __noinline __u64 queued_datagram(struct sock *sk)
{
    struct headers headers;
    struct sk_buff *last = sk ? sk->sk_receive_queue.prev : 0;
    if (!last || (void *)last == (void *)&sk->sk_receive_queue || !name_datagram(last, &headers))
        return 0;
    return headers.destination == sk->__sk_common.skc_num ? headers.key : 0;
}

/* The datagram that has come for this socket; 0: none that is known. */
static __always_inline __u64 datagram_for(struct cpu_context *context, struct sock *sk)
{
    if (wp_packets_offset)
        return queued_datagram(sk);
    struct packet *packet = &context->packets[level_now(context)];
    return packet->local_port == sk->__sk_common.skc_num ? packet->key : 0;
}

/* What the packet before was marked with is over. May this one be a datagram? */
static __always_inline bool is_new_datagram(const struct sk_buff *skb)
{
    struct cpu_context *context = cpu_context();
    if (!context || is_between_windows())
        return false;
    begin_window(context);
    __u32 level = level_now(context);
    context->packets[level].key = 0;
    if (context->marks[level].cause == CAUSE_MESSAGE)
        end_message(context, level);
    return is_datagram(skb);
}

/* Where packets are not counted. */
SEC("tp_btf/netif_receive_skb")
int WORK_PROG_IF(wp_packet_in, is_new_datagram, struct sk_buff *skb)
{
    struct cpu_context *context = cpu_context();
    struct headers headers = {};
    if (!context || !name_datagram(skb, &headers))
        return 0;
    struct packet *packet = &context->packets[level_now(context)];
    packet->key = headers.key;
    packet->local_port = headers.destination;
    packet->remote_port = headers.source;
    return 0;
}

#endif
