/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_ACKNOWLEDGE_H
#define WP_COLLECTOR_BPF_ACKNOWLEDGE_H
/*
 * Who waits for room in a TCP socket: an acknowledgement wakes it, for which no program is called. A send that finds
 * little room leaves the socket here, and its key, and a waking by the network that brought no data finds it by what
 * the woken thread waits for. Of a poll or select of several sockets it is not known.
 */
#include "wait.h"

#define ACKNOWLEDGES ((__u64)1 << 32) /* beside a position, as WP_POSITION_ACKNOWLEDGES of proto/event.h */
#define NET_RX_SOFTIRQ 3              /* include/linux/interrupt.h */

const volatile bool wp_ready_arrives = false; /* set before loading: data arrive as their readers are told */

struct full_socket {
    __u64 key, ends;
};

struct {
    __uint(type, BPF_MAP_TYPE_LRU_HASH);
    __uint(max_entries, 1024);
    __type(key, __u64); /* the socket's address */
    __type(value, struct full_socket);
} full_sockets SEC(".maps");

static __noinline int remember_full(__u64 sk, __u64 key)
{
    struct full_socket *known = bpf_map_lookup_elem(&full_sockets, &sk);
    struct full_socket full = {.key = key};
    full.ends = ends_of(sk);
    if (!known || known->key != full.key || known->ends != full.ends)
        bpf_map_update_elem(&full_sockets, &sk, &full, BPF_ANY);
    return 0;
}

static __always_inline __u64 socket_of(struct file *file)
{
    struct inode *inode = file ? GET(file, file, f_inode) : 0;
    if (!inode || (GET(inode, inode, i_mode) & S_IFMT) != S_IFSOCK)
        return 0;
    struct socket___kernel *socket = (struct socket___kernel *)GET(file, file, private_data);
    return (__u64)(unsigned long)BPF_CORE_READ(socket, sk);
}

#if defined(__TARGET_ARCH_x86)

/* The socket that a sleeping thread waits for, in a call of its own or in epoll; 0: it is not known. */
static __always_inline __u64 socket_waited_for(struct task_struct *task)
{
    struct pt_regs *regs = task->flags & PF_KTHREAD ? 0 : (struct pt_regs *)bpf_task_pt_regs(task);
    __u32 number = regs ? (__u32)regs->orig_ax : 0;
    if (!regs || is_many(number, regs))
        return 0;
    if (is_fd_call(number) && !is_epoll(number))
        return socket_of(file_at(task, (__u32)regs->di));
    struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
    if (!thread)
        return 0;
    if (is_epoll(number))
        return socket_of(last_ready(&thread->waits));
    return number == CALL_POLL || number == CALL_PPOLL ? thread->waits.own.sk : 0;
}

#else

static __always_inline __u64 socket_waited_for(struct task_struct *task)
{
    return 0;
}

#endif

static __noinline int find_full(struct wp_record *waking, struct task_struct *woken)
{
    __u64 sk = socket_waited_for(woken);
    struct full_socket *full = sk ? bpf_map_lookup_elem(&full_sockets, &sk) : 0;
    if (!full || full->ends != ends_of(sk))
        return 0;
    waking->c = CAUSE_MESSAGE;
    waking->a = GET(tcp_sock, sk, rcv_nxt) | ACKNOWLEDGES;
    waking->d = full->key;
    return 0;
}

static __always_inline void fill_acknowledged(struct wp_record *waking, struct task_struct *woken)
{
    if (wp_ready_arrives && unlikely(waking->c == CAUSE_SOFTIRQ && waking->d == NET_RX_SOFTIRQ))
        find_full(waking, woken);
}

#endif
