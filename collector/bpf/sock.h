/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_SOCK_H
#define WP_COLLECTOR_BPF_SOCK_H
/*
 * Sockets: what was sent, what arrived, what was read. A socket is named by a number of its own, kept in its storage,
 * so that reused memory is a new socket. TCP is located by stream positions, a UDP datagram by a hash of its headers
 * that both ends compute alike.
 */
#include "acknowledge.h"
#include "cpu_buffer.h"
#include "datagram.h"
#include "local.h"
#include "sched.h"

#define IPPROTO_TCP 6
#define MSG_ERRQUEUE 0x2000 /* include/linux/socket.h */
#define TCP_ESTABLISHED 1
#define TCP_SYN_SENT 2
#define TCP_SYN_RECV 3
#define TCP_FIN_WAIT2 5
#define TCP_TIME_WAIT 6
#define TCP_CLOSE 7
#define TCP_CLOSE_WAIT 8
#define TCP_LISTEN 10
#define TCP_NEW_SYN_RECV 12

const volatile bool wp_reads_any =
    false; /* set before loading: reads of TCP are told by the program for all families */

/*
 * A message arrives on another processor than its socket is read and written on. What is looked at then is hardly ever
 * written, and has a cache line apart from what is written with each message: the kernel keeps the value in one from
 * its eighth byte on (struct bpf_local_storage_data).
 */
struct socket {
    __u64 key;
    __u8 local[16], remote[16]; /* as the reader knows them */
    __u32 ports;                /* both, as the kernel keeps them */
    __u32 window;               /* in which the positions below were so */
    __u8 family;                /* 0: the reader does not know it */
    __u8 has_read_end, has_connecting, reserved;
    __u32 to_the_line;
    __u64 left_ns;  /* when bytes that left were last reported */
    __u32 sent_end; /* write_seq behind the last send */
    __u32 left_end; /* position behind the last byte that went to the device */
    __u32 read_end; /* copied_seq behind the last read */
    __u8 has_sent_end, has_left, unused[42];
    __u32 arrived_end; /* rcv_nxt when readers were told last: written where packets come */
    __u8 has_arrived_end, unused_too[3];
};
_Static_assert(
    __builtin_offsetof(struct socket, left_ns) == 56 && __builtin_offsetof(struct socket, arrived_end) == 120,
    "cache lines without the first one's first eight bytes");

struct {
    __uint(type, BPF_MAP_TYPE_SK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct socket);
} sockets SEC(".maps");

struct socket_record {
    struct wp_record head;
    struct wp_record_socket socket;
};

struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, __u64);
} socket_counter SEC(".maps");

static __always_inline bool is_internet(const struct sock *sk)
{
    __u16 family = sk->__sk_common.skc_family;
    return family == AF_INET || family == AF_INET6;
}

/* And of this host? */
static __always_inline bool is_inet(const struct sock *sk)
{
    return is_internet(sk) && (!wp_netns_inum || sk->__sk_common.skc_net.net->ns.inum == wp_netns_inum);
}

static __always_inline bool is_tcp(const struct sock *sk)
{
    return sk->sk_protocol == IPPROTO_TCP;
}

static __always_inline __u64 next_socket_key(void)
{
    __u32 zero = 0;
    __u64 *counter = bpf_map_lookup_elem(&socket_counter, &zero);
    return counter ? (__sync_fetch_and_add(counter, 1) + 1) << 12 | (bpf_get_smp_processor_id() & 0xfff) : 0;
}

static __always_inline void describe(struct wp_record_socket *out, const struct sock *sk)
{
    const struct sock_common *common = &sk->__sk_common;
    __builtin_memset(out, 0, sizeof(*out));
    out->family = (__u8)common->skc_family;
    out->protocol = (__u8)sk->sk_protocol;
    out->local_port = common->skc_num;
    out->remote_port = bpf_ntohs(common->skc_dport);
    out->opener = is_tcp(sk) && out->remote_port ? (__u16)opener_of(sk) : OPENER_UNKNOWN;
    out->netns = LOOSE(sock, sk)->__sk_common.skc_net.net->ns.inum;
    if (common->skc_family == AF_INET) {
        __be32 local = common->skc_rcv_saddr, remote = common->skc_daddr;
        __builtin_memcpy(out->local, &local, 4);
        __builtin_memcpy(out->remote, &remote, 4);
    } else {
#pragma unroll
        for (int i = 0; i < 4; i++) {
            __u32 local = common->skc_v6_rcv_saddr.in6_u.u6_addr32[i], remote = common->skc_v6_daddr.in6_u.u6_addr32[i];
            __builtin_memcpy(&out->local[4 * i], &local, 4);
            __builtin_memcpy(&out->remote[4 * i], &remote, 4);
        }
    }
}

/* Has it the addresses that the reader was told? Protocol and namespace stay what they were made with. */
static __always_inline bool is_as_told(const struct socket *s, const struct sock *sk)
{
    const struct sock_common *common = &sk->__sk_common;
    const __u32 *local = (const __u32 *)s->local, *remote = (const __u32 *)s->remote;
    if (unlikely(s->family != common->skc_family || s->ports != common->skc_portpair))
        return false;
    if (likely(common->skc_family == AF_INET))
        return !((common->skc_rcv_saddr ^ local[0]) | (common->skc_daddr ^ remote[0]));
    __u32 differs = 0;
#pragma unroll
    for (int i = 0; i < 4; i++)
        differs |= (common->skc_v6_rcv_saddr.in6_u.u6_addr32[i] ^ local[i]) |
            (common->skc_v6_daddr.in6_u.u6_addr32[i] ^ remote[i]);
    return !differs;
}

/* A closed one has lost its addresses, and its bytes may still be read: it is what it was told to be. */
static __always_inline bool is_closed(const struct socket *s, const struct sock *sk)
{
    return s->family && is_tcp(sk) && sk->__sk_common.skc_state == TCP_CLOSE;
}

/* Other addresses: another socket to the reader. False: there was no room to report it (counted). */
static __noinline bool tell_socket(struct socket *s, struct sock *sk)
{
    if (!s || !sk)
        return false;
    if (is_closed(s, sk))
        return true;
    __u64 key = next_socket_key();
    struct socket_record *r = RESERVE(struct socket_record, WP_RECORD_SOCKET);
    if (!r)
        return false;
    fill_head(&r->head, WP_RECORD_SOCKET, current_task());
    r->head.d = key;
    r->head.tail = sizeof(r->socket);
    describe(&r->socket, sk);
    s->ports = sk->__sk_common.skc_portpair;
    s->family = r->socket.family;
    __builtin_memcpy(s->local, r->socket.local, sizeof(s->local));
    __builtin_memcpy(s->remote, r->socket.remote, sizeof(s->remote));
    s->key = key;
    submit(r);
    return true;
}

/* The socket's own memory, its key made and its addresses told when they are new; NULL when there is none. */
static __always_inline struct socket *known_socket(struct sock *sk)
{
    struct socket *s = bpf_sk_storage_get(&sockets, sk, 0, BPF_SK_STORAGE_GET_F_CREATE);
    return s && (likely(is_as_told(s, sk)) || tell_socket(s, sk)) ? s : 0;
}

/* Positions of before a pause say nothing: what was sent meanwhile was seen by nobody. */
static __always_inline void forget_positions(struct socket *s, struct sock *sk)
{
    __u32 window = wp_window_number;
    if (likely(s->window == window))
        return;
    s->window = window;
    s->has_sent_end = s->has_read_end = s->has_arrived_end = 0;
    s->left_end = BPF_CORE_READ((struct tcp_sock *)sk, snd_nxt);
    s->has_left = 1;
}

/* By the ring, and with what does not fit into a slot. */
static __noinline int send_sock_whole(__u32 what, __u64 key, __u64 a, __u64 b, __u32 c)
{
    struct wp_record r;
    fill_head(&r, (__u8)what, current_task());
    r.flags = (__u8)(what >> 8);
    r.d = key;
    r.a = a;
    r.b = b;
    r.c = c;
    return send_head(&r);
}

/* When the kernel last took in or gave out something on that socket (tcp_mstamp_refresh of net/ipv4/tcp_output.c): as a
 * segment comes, and as its bytes are read. 0: not known. The same clock, already read. */
static __always_inline __u64 socket_clock(struct sock *sk)
{
    return bpf_core_field_exists(((struct tcp_sock *)0)->tcp_clock_cache) ? GET(tcp_sock, sk, tcp_clock_cache) : 0;
}

/* Written where it stays: there is one for every message that is sent, arrives, or is read. time_ns: 0, or when it
 * was, but not before what this CPU wrote last. what: its kind, and its flags << 8. */
static __always_inline void send_sock_at(__u64 time_ns, __u32 what, __u64 key, __u64 a, __u32 c)
{
    __u32 cpu = bpf_get_smp_processor_id();
    struct quick q;
    if (unlikely(!open_slot(&q, cpu))) {
        send_sock_whole(what, key, a, 0, c);
        return;
    }
    struct wp_record *r = (struct wp_record *)q.slot->head;
    __u64 thread = (__u8)what != KIND_SOCK_ARRIVE && is_current_here() ? bpf_get_current_pid_tgid() : 0;
    r->time_ns = !time_ns ? bpf_ktime_get_ns() : time_ns > q.cursor->last_ns ? time_ns : q.cursor->last_ns;
    r->kind = (__u8)what;
    r->flags = (__u8)(what >> 8);
    r->cpu = (__u16)cpu;
    r->tid = (__u32)thread;
    r->pid = (__u32)(thread >> 32);
    r->other_tid = r->other_pid = 0;
    r->c = c;
    r->d = key;
    r->stack_key = 0;
    r->a = a;
    close_slot(&q);
}

static __always_inline void send_sock(__u8 kind, __u8 flags, __u64 key, __u64 a, __u32 c)
{
    send_sock_at(0, kind | (__u32)flags << 8, key, a, c);
}

static __always_inline int tcp_sent(struct sock *sk, int result)
{
    if (is_between_windows() || result <= 0 || !is_tcp(sk) || !is_inet(sk))
        return 0;
    struct socket *s = known_socket(sk);
    if (!s)
        return 0;
    forget_positions(s, sk);
    __u32 end = GET(tcp_sock, sk, write_seq);
    __u32 bytes = s->has_sent_end ? end - s->sent_end : (__u32)result;
    if (!bytes) /* another thread's call took in these bytes as well */
        return 0;
    s->sent_end = end;
    s->has_sent_end = 1;
    send_sock(KIND_SOCK_SEND, 0, s->key, end, bytes);
    return 0;
}

/* From where on reads are counted: what was read before that nobody saw. */
static __always_inline void begin_reads(struct socket *s, struct sock *sk)
{
    if (likely(s->has_read_end))
        return;
    s->read_end = GET(tcp_sock, sk, copied_seq);
    s->has_read_end = 1;
}

/* As sk_stream_memory_free of include/net/sock.h: does a send wait that needs memory for one more packet? */
static __always_inline bool is_full(struct sock *sk, __u32 write_seq)
{
    if (sk->sk_wmem_queued >= sk->sk_sndbuf)
        return true;
    __u32 most = GET(tcp_sock, sk, notsent_lowat);
    if (!most)
        most = LOOSE(sock, sk)->__sk_common.skc_net.net->ipv4.sysctl_tcp_notsent_lowat;
    return write_seq - GET(tcp_sock, sk, snd_nxt) >= most;
}

enum progress { SENDS_ALL, SENDS_SOME, SENDS_NONE };

/* How much of the bytes that are `left` to a send is handed over now: SOME: this will be asked again before it is over;
 * NONE: it waits. */
static __always_inline enum progress progress_of(
    struct cpu_context *context, struct sock *sk, struct sk_buff *last, __u32 write_seq, __s64 left, int size_goal)
{
    __u64 at = number_of(&context->places[0], last); /* the last packet that was not sent yet; there may be none */
    if (is_full(sk, write_seq))                      /* what that one has room for goes there */
        return at && left <= size_goal - (__s64)GET(sk_buff, at, len) ? SENDS_ALL : SENDS_NONE;
    __s64 room = (__s64)sk->sk_sndbuf - sk->sk_wmem_queued;
    return left <= size_goal || 2 * left <= room ? SENDS_ALL : SENDS_SOME;
}

/*
 * Of TCP alone, and so nothing that sockets of other families pay for: in a send, before the next of its bytes are
 * copied, some packets' worth at a time. The rest of them is reported once nothing can hold it up; of a large send that
 * has to wait, what went before.
 */
SEC("tp_btf/tcp_sendmsg_locked")
int WORK_PROG(wp_tcp_send, struct sock *sk, struct msghdr *message, struct sk_buff *last, int size_goal)
{
    struct cpu_context *context = cpu_context();
    if (is_between_windows() || !context || !is_inet(sk))
        return 0;
    struct socket *s = known_socket(sk);
    if (!s)
        return 0;
    forget_positions(s, sk);
    __u32 begin = GET(tcp_sock, sk, write_seq), left = (__u32)message->msg_iter.count;
    if (!s->has_sent_end)
        s->sent_end = begin;
    s->has_sent_end = 1;
    enum progress progress = progress_of(context, sk, last, begin, left, size_goal);
    if (unlikely(progress != SENDS_ALL))
        remember_full(number_of(&context->places[0], sk), s->key);
    __u32 end = progress == SENDS_ALL ? begin + left : begin;
    if (progress == SENDS_SOME || end == s->sent_end)
        return 0;
    if ((__s32)(begin - s->sent_end) > 0) /* else not all that was reported went, an error came */
        begin = s->sent_end;
    s->sent_end = end;
    if (end != begin)
        send_sock(KIND_SOCK_SEND, 8, s->key, end, end - begin); /* WP_SOCK_AHEAD */
    return 0;
}

/* Which of the programs for one fact is loaded: collector/live/probe.c. */
SEC("tp_btf/sock_send_length")
int WORK_PROG_IF(wp_sock_send, is_internet, struct sock *sk, int result)
{
    return tcp_sent(sk, result);
}

SEC("fexit/tcp_sendmsg")
int WORK_PROG(wp_sock_send_exit, struct sock *sk, void *message, unsigned long size, int result)
{
    return tcp_sent(sk, result);
}

/* sendfile and splice, until Linux 6.4 a way of their own */
SEC("fexit/tcp_sendpage")
int WORK_PROG(wp_sock_page_exit, struct sock *sk, void *page, int offset, unsigned long size, int flags, int result)
{
    return tcp_sent(sk, result);
}

/* What has been copied, or only looked at, by now. */
static __always_inline void send_read(struct socket *s, __u32 end, __u64 time_ns)
{
    __u32 bytes = end - s->read_end;
    s->read_end = end;
    if (bytes)
        send_sock_at(time_ns, KIND_SOCK_RECV, s->key, end, bytes);
}

/* The start of tcp_rcv_space_adjust, by pieces. What the kernel takes for its own use, in an interrupt, is no read. */
SEC("tp_btf/tcp_rcv_space_adjust")
int WORK_PROG(wp_tcp_read, struct sock *sk)
{
    struct cpu_context *context = cpu_context();
    if (is_between_windows() || !context || level_now(context) != LEVEL_TASK || !is_inet(sk))
        return 0;
    struct socket *s = known_socket(sk);
    if (!s)
        return 0;
    forget_positions(s, sk);
    begin_reads(s, sk);
    send_read(s, GET(tcp_sock, sk, copied_seq), 0);
    return 0;
}

/* A call has returned `bytes`; it may have read past the other end's last one, which has a number too. */
static __always_inline int tcp_read(struct sock *sk, __u32 bytes)
{
    struct socket *s = known_socket(sk);
    if (!s)
        return 0;
    forget_positions(s, sk);
    __u32 end = GET(tcp_sock, sk, copied_seq);
    if (unlikely(!s->has_read_end))
        s->read_end = end - bytes;
    s->has_read_end = 1;
    send_read(s, end - s->read_end == bytes + 1 ? end - 1 : end, socket_clock(sk));
    return 0;
}

/* Called for sockets of every family, as a read returns: one program for TCP and for unix streams. */
SEC("tp_btf/sock_recv_length")
int WORK_PROG(wp_read_any, struct sock *sk, int result, int flags)
{
    if (is_local(sk))
        return local_read(sk, result, flags);
    if (!wp_reads_any || result <= 0 || flags & (MSG_PEEK | MSG_ERRQUEUE) || is_between_windows() || !is_tcp(sk) ||
        !is_inet(sk))
        return 0;
    return tcp_read(sk, (__u32)result);
}

static __always_inline void mark_message(struct cpu_context *context, struct sock *sk, __u64 key, __u64 position)
{
    begin_window(context);
    __u32 level = level_now(context);
    set_mark(context, level, CAUSE_MESSAGE, position, key);
    if (wp_packets_offset && level == LEVEL_SOFT)
        context->message_packet = packet_number(context);
    context->ready[level] = number_of(&context->places[0], sk);
}

/* In order, or behind a hole that is filled now: up to rcv_nxt. The first time, what nobody has read. */
static __always_inline void tcp_ready(struct cpu_context *context, struct socket *s, struct sock *sk)
{
    __u32 end = GET(tcp_sock, sk, rcv_nxt);
    mark_message(context, sk, s->key, end);
    if (!wp_ready_arrives)
        return;
    begin_reads(s, sk);
    if (unlikely(!s->has_arrived_end))
        s->arrived_end = s->read_end;
    s->has_arrived_end = 1;
    __u32 bytes = end - s->arrived_end;
    s->arrived_end = end;
    if (bytes)
        send_sock_at(socket_clock(sk), KIND_SOCK_ARRIVE, s->key, end, bytes);
}

/* The start of tcp_rcv_established: a segment of an established connection is about to be taken in. */
static __always_inline int tcp_arrived(struct sock *sk, struct sk_buff *skb)
{
    struct cpu_context *context = cpu_context();
    if (is_between_windows() || !context || !is_inet(sk))
        return 0;
    struct socket *s = known_socket(sk);
    if (!s)
        return 0;
    forget_positions(s, sk);
    begin_reads(s, sk);
    __u64 range = word_at((__u64)(unsigned long)skb->cb); /* of struct tcp_skb_cb, include/net/tcp.h: seq, end_seq */
    __u32 end = (__u32)(range >> 32), bytes = end - (__u32)range;
    mark_message(context, sk, s->key, bytes ? end : end | ACKNOWLEDGES);
    if (bytes)
        send_sock(KIND_SOCK_ARRIVE, 0, s->key, end, bytes);
    return 0;
}

SEC("tp_btf/tcp_probe")
int WORK_PROG(wp_tcp_arrive, struct sock *sk, struct sk_buff *skb)
{
    return tcp_arrived(sk, skb);
}

SEC("fentry/tcp_rcv_established")
int WORK_PROG(wp_tcp_arrive_entry, struct sock *sk, struct sk_buff *skb)
{
    return tcp_arrived(sk, skb);
}

/* Has the segment that is being taken in been reported? Not all are: tcp_probe is of established connections. */
static __always_inline bool is_marked(struct cpu_context *context, __u32 level, struct sock *sk)
{
    return level != LEVEL_TASK && context->marks[level].cause == CAUSE_MESSAGE && !is_packet_over(context, level) &&
        context->ready[level] == number_of(&context->places[0], sk);
}

/* Is there nothing to report of an internet socket whose waiters are woken next? Of most it was, as the segment came.
 */
static __always_inline bool is_ready_told(struct cpu_context *context, struct sock *sk)
{
    return !wp_ready_arrives && is_tcp(sk) && is_marked(context, level_now(context), sk);
}

/* The start of sock_def_readable: its waiters are woken next, for the segment that came or for all bytes up to rcv_nxt.
 */
static __always_inline int data_ready(struct sock *sk)
{
    struct cpu_context *context = cpu_context();
    if (!context || is_between_windows() || is_ready_told(context, sk) || !is_inet(sk) ||
        sk->__sk_common.skc_state == TCP_LISTEN) /* of a listener: the accepted socket is marked */
        return 0;
    __u64 datagram = sk->sk_protocol == IPPROTO_UDP ? datagram_for(context, sk) : 0;
    if (sk->sk_protocol == IPPROTO_UDP && !datagram)
        return 0;
    struct socket *s = known_socket(sk);
    if (!s)
        return 0;
    if (is_tcp(sk)) {
        forget_positions(s, sk);
        tcp_ready(context, s, sk);
    } else if (sk->sk_protocol == IPPROTO_UDP) {
        mark_message(context, sk, s->key, datagram);
        send_sock(KIND_SOCK_ARRIVE, 1, s->key, datagram, 0); /* WP_SOCK_DATAGRAM */
    }
    return 0;
}

static __always_inline int ready(struct sock *sk)
{
    ready_local(sk);
    if (!is_internet(sk))
        return 0;
    __u64 began_ns = begin_work();
    data_ready(sk);
    end_work(began_ns);
    return 0;
}

SEC("tp_btf/sk_data_ready")
int BPF_PROG(wp_data_ready, struct sock *sk)
{
    return ready(sk);
}

SEC("fentry/sock_def_readable")
int BPF_PROG(wp_data_ready_entry, struct sock *sk)
{
    return ready(sk);
}

SEC("tp_btf/inet_sock_set_state")
int WORK_PROG(wp_sock_state, struct sock *sk, int before, int after)
{
    if (!is_inet(sk) || !is_tcp(sk) || after == TCP_LISTEN || after == TCP_SYN_SENT || after == TCP_SYN_RECV ||
        after == TCP_NEW_SYN_RECV)
        return 0; /* a connecting socket has no port yet: wp_packet_out reports it */
    if (is_unwatched() || (is_between_windows() && after != TCP_CLOSE)) /* the reader has to forget it */
        return 0;
    /* As is_closed() has it; or nothing ever happened on it. */
    struct socket *s = after == TCP_CLOSE ? bpf_sk_storage_get(&sockets, sk, 0, 0) : known_socket(sk);
    if (!s || !s->family)
        return 0;
    struct tcp_sock *tcp = (struct tcp_sock *)sk;
    __u32 received = BPF_CORE_READ(tcp, rcv_nxt);
    __u64 first = 0;
    forget_positions(s, sk);
    if (after == TCP_ESTABLISHED) {
        first = (__u64)(received - 1) << 32 | (BPF_CORE_READ(tcp, snd_una) - 1);
        s->sent_end = BPF_CORE_READ(tcp, write_seq);
        s->has_sent_end = 1;
        s->has_read_end = 0;
        begin_reads(s, sk);
    }
    __u64 position = received;
    if (after == TCP_FIN_WAIT2)
        position |= ACKNOWLEDGES; /* of our own end: whoever reads is woken, and there is nothing */
    else if (after == TCP_CLOSE)
        position = (__u32)(received + 1); /* a reset stands behind all bytes, as an end does */
    /* A task that closes its own socket gets no message by it; one that works off its backlog may. */
    struct cpu_context *context = cpu_context();
    if (context && (level_now(context) != LEVEL_TASK || after == TCP_ESTABLISHED || after == TCP_CLOSE_WAIT))
        mark_message(context, sk, s->key, position);
    send_sock_whole(KIND_SOCK_STATE, s->key, first, (__u32)before, (__u32)after);
    return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int WORK_PROG(wp_retransmit, struct sock *sk, struct sk_buff *skb)
{
    struct wp_tcp_cb cb;
    if (is_between_windows() || !is_inet(sk) || bpf_probe_read_kernel(&cb, sizeof(cb), skb->cb))
        return 0;
    struct socket *s = known_socket(sk);
    if (s)
        send_sock(KIND_SOCK_RETRANSMIT, 0, s->key, cb.end_seq, cb.end_seq - cb.seq);
    return 0;
}

#endif
