/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_LEAVE_H
#define WP_COLLECTOR_BPF_LEAVE_H
/* Packets as they go to a device: datagrams, connections that are being made, and TCP's data now and then, for clocks.
 */
#include "sock.h"

#define LEAVE_INTERVAL_NS 10000000 /* clocks need no more */
#define IFF_LOOPBACK 8

/* Data goes to the network for the first time; a retransmission says nothing of when its bytes arrive. */
static __noinline int segment_out(struct sock *sk, struct sk_buff *skb)
{
    if (!sk || !skb)
        return 0;
    struct {
        __be16 source, destination;
        __be32 seq, ack;
        __u8 offset, flags;
    } tcp;
    unsigned char *header = skb->head + skb->transport_header;
    if (bpf_probe_read_kernel(&tcp, sizeof(tcp), header))
        return 0;
    __u32 headers = (__u32)(header - skb->data) + (tcp.offset >> 4) * 4;
    if (headers >= skb->len)
        return 0;
    struct socket *s = known_socket(sk);
    if (!s)
        return 0;
    forget_positions(s, sk);
    __u32 end = bpf_ntohl(tcp.seq) + skb->len - headers;
    if (s->has_left && (__s32)(end - s->left_end) <= 0)
        return 0;
    s->left_end = end;
    s->has_left = 1;
    __u64 now = bpf_ktime_get_ns();
    if (now - s->left_ns < LEAVE_INTERVAL_NS)
        return 0;
    s->left_ns = now;
    send_sock(KIND_SOCK_LEAVE, 0, s->key, end, 0);
    return 0;
}

static __noinline int datagram_out(struct sock *sk, struct sk_buff *skb)
{
    struct headers headers;
    struct socket *s = sk && skb && name_datagram(skb, &headers) ? known_socket(sk) : 0;
    if (s)
        send_sock(KIND_SOCK_SEND, 1, s->key, headers.key, skb->len); /* WP_SOCK_DATAGRAM */
    return 0;
}

static __noinline int connecting_out(struct sock *sk)
{
    struct socket *s = sk ? known_socket(sk) : 0;
    if (s && !s->has_connecting) {
        s->has_connecting = 1;
        send_sock_whole(KIND_SOCK_STATE, s->key, 0, 7, TCP_SYN_SENT); /* from TCP_CLOSE */
    }
    return 0;
}

/* May there be something to report of a packet that leaves? Other programs report data that stays on this host. */
static __always_inline bool is_leaving(const struct sk_buff *skb)
{
    const struct sock *sk = skb->sk;
    __u8 state = sk ? sk->__sk_common.skc_state : TCP_NEW_SYN_RECV;
    if (state == TCP_NEW_SYN_RECV || state == TCP_TIME_WAIT) /* no whole socket */
        return false;
    if (!is_tcp(sk) || state == TCP_SYN_SENT)
        return true;
    const struct net_device *dev = skb->dev;
    return dev && !(dev->flags & IFF_LOOPBACK);
}

/* A packet leaves, usually in the sender's context: datagrams, and the first segment of a connection being made. */
SEC("tp_btf/net_dev_queue")
int WORK_PROG_IF(wp_packet_out, is_leaving, struct sk_buff *skb)
{
    struct sock *sk = skb->sk;
    if (!sk || is_between_windows() || !is_inet(sk))
        return 0;
    if (sk->sk_protocol == IPPROTO_UDP)
        return datagram_out(sk, skb);
    if (!is_tcp(sk))
        return 0;
    return sk->__sk_common.skc_state == TCP_SYN_SENT ? connecting_out(sk) : segment_out(sk, skb);
}

#endif
