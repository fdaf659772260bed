/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_LOCAL_H
#define WP_COLLECTOR_BPF_LOCAL_H
/*
 * Streams of the unix family: which connection a waking was written to, and when a thread turns to another one. Nothing
 * is kept of a connection. Its number is made of the addresses of both ends, and is the same at both. The first thing
 * to be left out when the programs cost too much (work.h).
 */
#include "cpu_buffer.h"
#include "sched.h"

#define AF_UNIX 1
#define SOCK_STREAM 1
#define MSG_PEEK 2
#define CONNECTION_BITS 28 /* four bytes on the wire */

const volatile bool wp_reads_local = false; /* set before loading: there is a program at the reads */

static __always_inline bool is_local(const struct sock *sk)
{
    return wp_reads_local && GET(sock, sk, __sk_common.skc_family) == AF_UNIX;
}

/* Of a stream that is connected; 0: it is none, or numbers are left out. */
static __always_inline __u32 connection_of(struct cpu_context *context, struct sock *sk)
{
    if (is_between_windows() || wp_walk_one_in != 1 || !bpf_core_type_exists(struct unix_sock) ||
        GET(sock, sk, sk_type) != SOCK_STREAM)
        return 0;
    __u64 here = number_of(&context->places[0], sk);
    __u64 there = number_of(&context->places[1], GET(unix_sock, sk, peer));
    if (!there)
        return 0;
    __u32 number = (__u32)(mix(mix(0x6c6f63616c, here ^ there), here + there) >> (64 - CONNECTION_BITS));
    return number ? number : 1;
}

/* The start of sock_def_readable: a task has written, and the readers are woken next. */
static __always_inline int local_ready(struct sock *sk)
{
    struct cpu_context *context = cpu_context();
    if (!context || level_now(context) != LEVEL_TASK || !is_current_here())
        return 0;
    __u32 connection = connection_of(context, sk);
    if (!connection)
        return 0;
    begin_window(context);
    clear_mark(context, LEVEL_TASK);
    set_mark(context, LEVEL_TASK, CAUSE_TASK, 0, connection);
    return 0;
}

static __noinline int ready_timed(struct sock *sk)
{
    __u64 began_ns = begin_work();
    local_ready(sk);
    end_work(began_ns);
    return 0;
}

static __always_inline void ready_local(struct sock *sk)
{
    if (is_local(sk))
        ready_timed(sk);
}

/* After a read. What a thread reads where it read last says nothing new. */
static __always_inline int local_read(struct sock *sk, int result, int flags)
{
    struct cpu_context *context = cpu_context();
    struct task_struct *task = current_task();
    if (!context || result <= 0 || flags & MSG_PEEK || !is_here(task))
        return 0;
    __u32 connection = connection_of(context, sk);
    struct thread *thread = connection ? bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) : 0;
    if (!thread || thread->connection == connection)
        return 0;
    begin_window(context);
    thread->connection = connection;
    __u64 now_ns = bpf_ktime_get_ns();
    __u32 unheard = unheard_of(&context->marks[LEVEL_TASK]);
    if (unheard) {
        keep_unheard(unheard, context->marks[LEVEL_TASK].time_ns, false);
        context->marks[LEVEL_TASK].is_heard = 1;
    }
    tell_unheard(now_ns, true, false);
    send_local(now_ns, connection, 0);
    return 0;
}

SEC("fexit/unix_stream_recvmsg")
int WORK_PROG(
    wp_local_read, struct socket___kernel *socket, struct msghdr *message, unsigned long size, int flags, int result)
{
    return wp_reads_local ? local_read(socket->sk, result, flags) : 0;
}

#endif
