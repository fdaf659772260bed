/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_WAIT_H
#define WP_COLLECTOR_BPF_WAIT_H
/*
 * What a system call waits for: the file or socket of its descriptor, the lock of futex; for epoll what was ready at
 * the waking, and for poll and select of several what the waker wrote to or the network brought. Each is named once and
 * by a key from then on; a thread remembers its last one, and a processor those that were ready lately, so that waiting
 * there again takes a few reads. x86-64 alone: the calls are known by number.
 */
#include "cause.h"
#include "stack_cache.h"
#include "told_path.h"

#include <bpf/bpf_endian.h>

#define ANON_INODE_FS_MAGIC 0x09041934 /* include/uapi/linux/magic.h */
#define PIPEFS_MAGIC 0x50495045
#define PID_FS_MAGIC 0x50494446
#define S_IFMT 0xf000
#define S_IFSOCK 0xc000
#define FAMILY_UNIX 1
#define FAMILY_INET 2
#define FAMILY_INET6 10

/* How to see that a file is still the one that is remembered: memory of files and inodes is used again at once. */
enum { CHECK_NUMBER, CHECK_LINK, CHECK_KIND, CHECK_PORTS, CHECK_PEER };

struct known_file {
    __u64 file, inode, check, sk, key;
    __u32 how, reserved;
};

struct waits {
    struct known_file own;
    __u64 eventpoll; /* that the thread sleeps in; 0: in none */
    __u64 lock, space, lock_key;
    __u64 nameless, nameless_end; /* memory of no file, in that space */
};

/* One that the thread waits for (kernel_lock.h). */
struct kernel_lock {
    __u64 address; /* 0: none */
    __u64 key;
    __u32 flags, reserved;
};

/* Of a thread that has to free pages of its memory cgroup (memory.h). */
struct memory_wait {
    __u64 key; /* the cgroup; 0: none is short of memory */
    __u64 looked_ns;
    __u64 over_ns; /* when it was done because of memory.high; 0: it was not */
    __u64 again;   /* the cgroup, where the page that was read last had been there and was given up; 0: none such */
    __u64 again_ns;
    __u32 is_inside, is_high;
};

/* What is kept of a thread: of one place, for to find it is a good part of what a switch costs. */
struct thread {
    struct waits waits;
    struct kernel_lock kernel_lock;
    struct memory_wait memory;
    __u32 connection; /* of local.h: the stream that it read last */
    __u32 unheard;    /* and one that it wrote to at written_ns, and has not slept since */
    __u64 written_ns;
    __u64 written_sleeps; /* task_struct.nvcsw then */
    __u64 timeout_ns;     /* of its sleep, if that may be until a timer of a language; 0: it is none */
    __u64 frame;          /* where that switch's arguments were */
    __u64 timer_stack;    /* key of the stack of its sleep if a timer ends it (go_timer.h); 0: as any other */
    __u32 elsewhere_run;  /* of its last sleeps, so many at other places than the remembered one */
    __u32 searches;       /* that found nothing, for virtual_timer.h */
    struct stack_cache stack_cache;
    struct interp_chains chains;
};

struct {
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, int);
    __type(value, struct thread);
} threads SEC(".maps");

struct wait_record {
    struct wp_record head;
    struct wp_record_wait wait;
};

#define READY_FILES 128u /* a power of two */

/* Of wakings, which do not interrupt each other: who waits for many files is woken by another one each time. By a hash
 * of the address. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, READY_FILES);
    __type(key, __u32);
    __type(value, struct known_file);
} ready_files SEC(".maps");

/* The part of an internet socket's description that changes with its memory's next use. */
static __always_inline __u64 ends_of(__u64 sk)
{
    return (__u64)GET(sock, sk, __sk_common.skc_portpair) << 32 | GET(sock, sk, __sk_common.skc_daddr);
}

enum opener { OPENER_UNKNOWN, OPENER_HERE, OPENER_THERE }; /* enum wp_opener of proto/batch.h */

/*
 * Which end of a TCP connection asked for it? A port that connect chose is in a bucket that says -1
 * (net/ipv4/inet_hashtables.c), one that was bound, and so that of an accepted connection, is not.
 */
static __always_inline enum opener opener_of(const struct sock *sk)
{
    struct inet_bind_bucket *bucket = GET(inet_connection_sock, sk, icsk_bind_hash);
    if (!bucket)
        return OPENER_UNKNOWN;
    return GET(inet_bind_bucket, bucket, fastreuse) < 0 ? OPENER_HERE : OPENER_THERE;
}

#if defined(__TARGET_ARCH_x86)

#define CALL_FUTEX 202
#define CALL_FUTEX_WAIT 455
#define CALL_FUTEX_WAITV 449
#define CALL_CONNECT 42
#define CALL_POLL 7
#define CALL_PPOLL 271
#define CALL_SELECT 23
#define CALL_PSELECT 270

/* Bits of the calls whose first argument is the descriptor that they wait for. */
#define BIT(number, word) ((number) / 64 == (word) ? 1ull << (number) % 64 : 0)
#define FD_CALLS(word)                                                                                                 \
    (BIT(0, word) | BIT(1, word) | BIT(16, word) | BIT(17, word) | BIT(18, word) | BIT(19, word) |                     \
        BIT(20, word) | /* read to writev */                                                                           \
        BIT(40, word) | BIT(42, word) | BIT(43, word) | BIT(44, word) | BIT(45, word) | BIT(46, word) |                \
        BIT(47, word) | /* sockets */                                                                                  \
        BIT(72, word) | BIT(73, word) | BIT(74, word) | BIT(75, word) | BIT(77, word) |                                \
        BIT(78, word) | /* fcntl to getdents */                                                                        \
        BIT(187, word) | BIT(217, word) | BIT(221, word) | BIT(232, word) | BIT(242, word) |                           \
        BIT(243, word) | /* readahead to queues */                                                                     \
        BIT(275, word) | BIT(276, word) | BIT(277, word) | BIT(278, word) | BIT(281, word) | BIT(285, word) |          \
        BIT(288, word) | BIT(295, word) | BIT(296, word) | BIT(299, word) | BIT(306, word) | BIT(307, word) |          \
        BIT(326, word) | BIT(327, word) | BIT(328, word) | BIT(426, word) | BIT(441, word))

static const volatile __u64 fd_calls[8] = {
    FD_CALLS(0), FD_CALLS(1), FD_CALLS(2), FD_CALLS(3), FD_CALLS(4), FD_CALLS(5), FD_CALLS(6), FD_CALLS(7)};

static __always_inline bool is_fd_call(__u32 number)
{
    __u32 word = number >> 6;
    barrier_var(word); /* the bound that the compiler knows of it is lost on the verifier */
    return number < 512 && fd_calls[word & 7] >> (number & 63) & 1;
}

static __always_inline bool is_futex(__u32 number)
{
    return number == CALL_FUTEX || number == CALL_FUTEX_WAIT || number == CALL_FUTEX_WAITV;
}

static __always_inline bool is_epoll(__u32 number)
{
    return number == 232 || number == 281 || number == 441; /* epoll_wait, epoll_pwait, epoll_pwait2 */
}

/* Waits for several descriptors, or for as many as a mask may have. */
static __always_inline bool is_many(__u32 number, struct pt_regs *regs)
{
    return number == CALL_SELECT || number == CALL_PSELECT ||
        ((number == CALL_POLL || number == CALL_PPOLL) && regs->si != 1);
}

static __always_inline struct file *file_at(struct task_struct *task, __u32 fd)
{
    struct files_struct *open =
        LOOSE(task_struct, task)->files; /* loads of known types are cheaper than calls that read */
    struct fdtable *table = open ? open->fdt : 0;
    if (!table || fd >= table->max_fds)
        return 0;
    return (struct file *)word_at((__u64)(unsigned long)(table->fd + fd));
}

static __always_inline struct known_file *ready_file(__u64 address)
{
    __u32 index = mix(0, address) >> 32;
    index &= READY_FILES - 1;
    return bpf_map_lookup_elem(&ready_files, &index);
}

static __always_inline __u64 check_of(const struct known_file *k, struct file *file, struct inode *inode)
{
    switch (k->how) {
    case CHECK_KIND:
        return (__u64)(unsigned long)GET(file, file, f_op);
    case CHECK_PORTS:
        return ends_of(k->sk);
    case CHECK_LINK:
        return (__u64)(unsigned long)BPF_CORE_READ(file, f_path.dentry);
    case CHECK_PEER:
        return (__u64)(unsigned long)GET(unix_sock, k->sk, peer);
    default:
        return GET(inode, inode, i_ino);
    }
}

/* Is this the end that serves? Where it is not known who opened it, the lower port is taken to be the known one. */
static __always_inline bool is_serving(struct sock *sk, __u8 protocol, __u16 local, __u16 remote)
{
    enum opener opener = protocol == 6 && remote ? opener_of(sk) : OPENER_UNKNOWN;
    if (!opener)
        return local && (!remote || local < remote);
    return opener == OPENER_THERE;
}

static __always_inline void set_ipv4(wp_u8 *out, __be32 address)
{
    __builtin_memcpy(out, &address, sizeof(address));
}

static __always_inline void describe_inet(struct wp_record_wait *wait, struct sock *sk)
{
    __u16 local = GET(sock, sk, __sk_common.skc_num);
    __u16 remote = bpf_ntohs(GET(sock, sk, __sk_common.skc_dport));
    if (is_serving(sk, wait->socket.protocol, local, remote)) { /* its clients are many */
        wait->socket.local_port = local;
        return;
    }
    wait->socket.remote_port = remote;
    if (wait->socket.family == FAMILY_INET)
        set_ipv4(wait->socket.remote, GET(sock, sk, __sk_common.skc_daddr));
    else
        BPF_CORE_READ_INTO(&wait->socket.remote, sk, __sk_common.skc_v6_daddr.in6_u.u6_addr32);
}

/* Its own name, else that of the other end. */
static __always_inline void describe_unix(struct wp_record_wait *wait, struct unix_sock *sk)
{
    struct unix_address *address = BPF_CORE_READ(sk, addr);
    struct unix_sock *peer = BPF_CORE_READ(sk, peer);
    if (!address)
        address = BPF_CORE_READ(peer, addr);
    if (!address)
        return;
    int size = BPF_CORE_READ(address, len) - 2; /* sun_family */
    if (size > 0 && size <= 108)
        bpf_probe_read_kernel(wait->path, size & 127, address->name[0].sun_path);
}

/* Of the description's first bytes, behind which it is 0. Not static: the verifier walks it once. */
__noinline __u64 wait_key(const struct wp_record_wait *wait, __u32 bytes)
{
    const __u64 *words = (const __u64 *)wait;
    __u64 key = 0x77616974;
    if (!wait)
        return 0;
    for (__u32 i = 0; i < sizeof(*wait) / 8; i++) {
        if (i >= bytes / 8)
            break;
        key = mix(key, words[i]);
    }
    return name_key(key);
}

/* Where a description is made: half of the bytes that a program may have on its stack are too many. */
struct {
    __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
    __uint(max_entries, 3); /* of a switch, a waking, and the list of tasks */
    __type(key, __u32);
    __type(value, struct wait_record);
} wait_scratch SEC(".maps");

static __always_inline struct wait_record *new_wait(__u32 which)
{
    struct wait_record *r = bpf_map_lookup_elem(&wait_scratch, &which);
    if (r)
        __builtin_memset(&r->wait, 0, sizeof(r->wait));
    return r;
}

/* Of the running thread. Not static: as wait_key. */
__noinline int tell_wait(struct wait_record *r, __u64 key)
{
    if (!r || !is_new_name(key))
        return 0;
    fill_head(&r->head, WP_RECORD_WAIT, current_task());
    r->head.a = key;
    r->head.tail = sizeof(r->wait);
    if (bpf_ringbuf_output(&ring, r, sizeof(*r), wake_flag()))
        count_drop(WP_RECORD_WAIT);
    return 0;
}

static __always_inline __u64 sock_key(struct known_file *k, struct sock *sk, struct task_struct *task, __u32 which)
{
    struct wait_record *r = new_wait(which);
    if (!sk || !r)
        return 0;
    k->sk = (__u64)(unsigned long)sk;
    r->wait.socket.family = (__u8)GET(sock, sk, __sk_common.skc_family);
    r->wait.socket.protocol = (__u8)GET(sock, sk, sk_protocol);
    r->wait.type = GET(sock, sk, sk_type);
    k->how = CHECK_PORTS;
    __u64 key;
    if (r->wait.socket.family == FAMILY_INET || r->wait.socket.family == FAMILY_INET6) {
        describe_inet(&r->wait, sk);
        key = wait_key(&r->wait, __builtin_offsetof(struct wp_record_wait, path));
    } else {
        if (r->wait.socket.family == FAMILY_UNIX && bpf_core_type_exists(struct unix_sock)) {
            k->how = CHECK_PEER;
            describe_unix(&r->wait, (struct unix_sock *)sk);
        }
        key = wait_key(&r->wait, sizeof(r->wait));
    }
    tell_wait(r, key);
    return key;
}

static __always_inline __u64 socket_key(struct known_file *k, struct file *file, struct task_struct *task, __u32 which)
{
    struct socket___kernel *socket = (struct socket___kernel *)GET(file, file, private_data);
    return sock_key(k, BPF_CORE_READ(socket, sk), task, which);
}

static __always_inline __u64 path_key(struct known_file *k, struct file *file, struct inode *inode)
{
    __u64 magic = BPF_CORE_READ(inode, i_sb, s_magic), key;
    __u64 dentry = (__u64)(unsigned long)BPF_CORE_READ(file, f_path.dentry);
    k->how = CHECK_NUMBER;
    if (magic == ANON_INODE_FS_MAGIC || magic == PIPEFS_MAGIC || magic == PID_FS_MAGIC) { /* one is like the other */
        k->how = CHECK_KIND;
        key = name_key(mix(magic, (__u64)(unsigned long)BPF_CORE_READ(file, f_op)));
    } else {
        key = link_key(inode, dentry);
        if (key != inode_key(inode))
            k->how = CHECK_LINK;
    }
    if (is_new_name(key))
        tell_path(dentry, k->inode, key);
    return key;
}

static __noinline __u64 new_file_key(
    struct known_file *k, struct file *file, struct inode *inode, struct task_struct *task, __u32 which)
{
    if (!k || !file || !inode)
        return 0;
    k->file = (__u64)(unsigned long)file;
    k->inode = (__u64)(unsigned long)inode;
    k->key =
        (GET(inode, inode, i_mode) & S_IFMT) == S_IFSOCK ? socket_key(k, file, task, which) : path_key(k, file, inode);
    k->check = check_of(k, file, inode);
    return k->key;
}

/* The key of a file, by what is remembered (`which` 0: in a switch, 1: in a waking). */
static __always_inline __u64 file_key(struct known_file *k, struct file *file, struct task_struct *task, __u32 which)
{
    struct inode *inode = GET(file, file, f_inode);
    if (!k || !inode)
        return 0;
    if (likely(k->file == (__u64)(unsigned long)file && k->inode == (__u64)(unsigned long)inode && k->key &&
            k->check == check_of(k, file, inode)))
        return k->key;
    return new_file_key(k, file, inode, task, which);
}

/* The key of an internet socket that brought a message, by what is remembered of the last one. */
static __noinline __u64 message_key(struct known_file *k, __u64 socket, struct task_struct *task)
{
    struct sock *sk = (struct sock *)socket;
    if (!k || !socket)
        return 0;
    if (!k->file && k->sk == socket && k->key && k->check == ends_of(socket))
        return k->key;
    k->file = 0;
    k->key = sock_key(k, sk, task, 1);
    k->check = ends_of(socket);
    return k->key;
}

/* A lock in memory that is a file's, or just behind it (what begins as zeros): it has a name there. */
static __noinline __u64 lock_key(struct waits *w, struct task_struct *task, __u64 address)
{
    struct mm_struct *mm = LOOSE(task_struct, task)->mm;
    if (!w || !mm)
        return 0;
    __u64 space = mix(mm->exec_vm, task->self_exec_id);
    if (w->space == space && w->lock == address)
        return w->lock_key;
    if (w->space == space && address - w->nameless < w->nameless_end - w->nameless)
        return 0;
    w->space = space;
    w->lock = address;
    w->lock_key = w->nameless = w->nameless_end = 0;
    struct vm_area_struct *area = find_area(mm, address, 0);
    if (!area)
        return 0;
    __u64 start = BPF_CORE_READ(area, vm_start), end = BPF_CORE_READ(area, vm_end);
    struct file *file = BPF_CORE_READ(area, vm_file);
    if (!file) {
        area = find_area(mm, start - 1, 0);
        file = area && BPF_CORE_READ(area, vm_end) == start ? BPF_CORE_READ(area, vm_file) : 0;
    }
    struct wait_record *r = new_wait(0);
    if (!file || !r) {
        w->nameless = start;
        w->nameless_end = end;
        return 0;
    }
    r->wait.address = address;
    r->wait.start = BPF_CORE_READ(area, vm_start);
    r->wait.end = BPF_CORE_READ(area, vm_end);
    r->wait.offset = BPF_CORE_READ(area, vm_pgoff) << 12;
    r->wait.inode = BPF_CORE_READ(file, f_inode, i_ino);
    w->lock_key = name_key(mix(mix(wait_key(&r->wait, sizeof(r->wait)), task->tgid), space));
    tell_wait(r, w->lock_key);
    return w->lock_key;
}

/* A unix socket that has no room for one more connection: the call says which. 0: of another family, or it cannot be
 * read now. */
static __noinline __u64 connecting_key(struct task_struct *task, __u64 address, __u64 size)
{
    struct wait_record *r = new_wait(0);
    __u16 family = 0;
    __u8 first = 0;
    if (!r || size <= 3 || bpf_probe_read_user(&family, sizeof(family), (void *)address) || family != FAMILY_UNIX ||
        bpf_probe_read_user(&first, sizeof(first), (void *)(address + 2)))
        return 0;
    size -= 2;
    if (first)
        bpf_probe_read_user_str(r->wait.path, sizeof(r->wait.path), (void *)(address + 2));
    else if (size <= sizeof(r->wait.path))
        bpf_probe_read_user(r->wait.path, size & 127, (void *)(address + 2));
    r->wait.socket.family = FAMILY_UNIX;
    __u64 key = wait_key(&r->wait, sizeof(r->wait));
    tell_wait(r, key);
    return key;
}

/* Of several locks any may be the one. */
static __noinline __u64 only_lock_key(struct waits *w, struct task_struct *task, __u64 vector, __u64 count)
{
    __u64 address;
    if (!w || count != 1 ||
        bpf_probe_read_user(&address, sizeof(address), (void *)(vector + 8))) /* struct futex_waitv.uaddr */
        return 0;
    return lock_key(w, task, address);
}

/* What the call that `task` sleeps in waits for, 0: not known. The task is the one that runs here. */
static __always_inline __u64 wait_of(struct waits *w, struct task_struct *task, struct pt_regs *regs, __u32 number)
{
    bool is_poll = number == CALL_POLL || number == CALL_PPOLL;
    if (!regs || !(is_futex(number) || is_poll || is_many(number, regs) || is_fd_call(number)))
        return 0;
    __u64 first = regs->di;
    __u32 fd = (__u32)first;
    if (is_many(number, regs) || (is_poll && bpf_probe_read_user(&fd, sizeof(fd), (void *)first)))
        return 0; /* of several any may be the one */
    if (is_futex(number))
        return !wp_unwinds               ? 0
            : number == CALL_FUTEX_WAITV ? only_lock_key(w, task, first, regs->si)
                                         : lock_key(w, task, first);
    if (number == CALL_CONNECT) {
        __u64 key = connecting_key(task, regs->si, regs->dx);
        if (key)
            return key;
    }
    struct file *file = file_at(task, fd);
    if (!file)
        return 0;
    if (is_epoll(number)) {
        __u64 poll = (__u64)(unsigned long)GET(file, file, private_data);
        if (w->eventpoll != poll) /* else whoever wakes it, on another processor, has to fetch what has not changed */
            w->eventpoll = poll;
        return 0; /* what was ready is known at the end */
    }
    return file_key(&w->own, file, task, 0);
}

/* The socket on which the call waits that a task slept in before anything was seen of it; 0: none. */
static __noinline __u64 socket_from_before(struct task_struct *task)
{
    struct pt_regs *regs = task ? (struct pt_regs *)bpf_task_pt_regs(task) : 0;
    struct known_file known = {};
    if (!regs || regs->orig_ax >= 512 || !is_fd_call((__u32)regs->orig_ax) || is_epoll((__u32)regs->orig_ax))
        return 0;
    struct file *file = file_at(task, (__u32)regs->di);
    struct inode *inode = file ? GET(file, file, f_inode) : 0;
    if (!inode || (GET(inode, inode, i_mode) & S_IFMT) != S_IFSOCK)
        return 0;
    return socket_key(&known, file, task, 2);
}

/* Of those that poll or select wait for: the socket whose message it is, or the file that the waker has a call on, for
 * such calls wake those who wait for that file, or for its other end. */
static __always_inline __u64 ready_of_many(const struct wp_record *waking, struct cpu_context *context)
{
    struct task_struct *waker = current_task();
    __u64 socket = context->ready[level_now(context)];
    if (waking->c == CAUSE_MESSAGE)
        return message_key(ready_file(socket), socket, waker);
    if (waking->c != CAUSE_TASK || waker->flags & PF_KTHREAD)
        return 0;
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(waker);
    if (!regs || !is_fd_call((__u32)regs->orig_ax))
        return 0;
    struct file *file = file_at(waker, (__u32)regs->di);
    return file ? file_key(ready_file(number_of(&context->places[0], file)), file, waker, 1) : 0;
}

/* The file that was added last to what is ready in the epoll that a thread sleeps in. */
static __always_inline struct file *last_ready(const struct waits *w)
{
    if (!w->eventpoll || !bpf_core_type_exists(struct eventpoll))
        return 0;
    struct eventpoll *poll = (struct eventpoll *)w->eventpoll;
    struct list_head *last = GET(eventpoll, poll, rdllist.prev), *head = &poll->rdllist;
    if (!last || last == head)
        return 0;
    struct epitem *none = 0;
    struct epitem *item = (struct epitem *)((__u64)(unsigned long)last -
        __builtin_preserve_field_info(none->rdllink, BPF_FIELD_BYTE_OFFSET));
    return GET(epitem, item, ffd.file);
}

/* What was ready when `woken` is woken in epoll_wait, in poll or select of several; 0: nothing that is known. Of an
 * epoll the last one that was added has caused the waking. */
static __always_inline __u64 ready_of(
    struct task_struct *woken, const struct wp_record *waking, struct cpu_context *context)
{
    if (woken->flags & PF_KTHREAD || !bpf_core_type_exists(struct eventpoll))
        return 0;
    struct pt_regs *regs = (struct pt_regs *)bpf_task_pt_regs(woken);
    bool is_of_many = regs && is_many((__u32)regs->orig_ax, regs);
    if (!regs || !(is_of_many || is_epoll((__u32)regs->orig_ax)))
        return 0;
    struct thread *thread = bpf_task_storage_get(&threads, woken, 0, 0);
    struct waits *w = thread ? &thread->waits : 0;
    if (!w)
        return 0;
    if (is_of_many)
        return ready_of_many(waking, context);
    struct file *file = last_ready(w);
    return file ? file_key(ready_file(number_of(&context->places[0], file)), file, current_task(), 1) : 0;
}

#else

static __always_inline bool is_epoll(__u32 number)
{
    return false;
}

static __always_inline __u64 wait_of(struct waits *w, struct task_struct *task, struct pt_regs *regs, __u32 number)
{
    return 0;
}

static __always_inline __u64 socket_from_before(struct task_struct *task)
{
    return 0;
}

static __always_inline __u64 ready_of(
    struct task_struct *woken, const struct wp_record *waking, struct cpu_context *context)
{
    return 0;
}

#endif
#endif
