/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_KERNEL_LOCK_H
#define WP_COLLECTOR_BPF_KERNEL_LOCK_H
/*
 * Locks of the kernel that a thread goes to sleep for (include/trace/events/lock.h, Linux 5.19): of which kind, of
 * whose memory or of which file, and who holds it. A thread remembers its lock from the one tracepoint to the other;
 * its switches tell it in between. Locks that are spun for return at once, and threads are looked up at an end only
 * while one of them waits.
 */
#include "link.h"
#include "wait.h"

#define LCB_F_SPIN 1 /* include/trace/events/lock.h */
#define LCB_F_READ 2
#define LCB_F_RT 8
#define LCB_F_PERCPU 16
#define LCB_F_MUTEX 32
#define LOCK_OWNER_FLAGS 7ull    /* kernel/locking/mutex.c, rwsem.c: the low bits of an owner */
#define RWSEM_READER_OWNED 1ull  /* which reader, is not known */
#define SWITCH_HELD_ANYWHERE 64u /* WP_SWITCH_HELD_ANYWHERE of proto/event.h */

volatile __u32 wp_lock_waiters SEC(".data") = 0;

/* The inode whose lock it is: its mapping leads back to it. */
static __always_inline struct inode *inode_of_lock(__u64 lock)
{
    struct inode *none = 0;
    struct inode *inode = (struct inode *)(lock - __builtin_preserve_field_info(none->i_rwsem, BPF_FIELD_BYTE_OFFSET));
    struct address_space *mapping = BPF_CORE_READ(inode, i_mapping);
    return mapping && BPF_CORE_READ(mapping, host) == inode ? inode : 0;
}

static __always_inline bool is_mmap_lock(__u64 lock)
{
    struct task_struct *task = current_task();
    struct mm_struct *none = 0;
    __u64 mm = (__u64)(unsigned long)BPF_CORE_READ(task, mm);
    return lock == mm + __builtin_preserve_field_info(none->mmap_lock, BPF_FIELD_BYTE_OFFSET);
}

/* Its key; told once a kind and, of a file's, once a file. */
static __noinline __u64 kernel_lock_key(__u64 lock, __u32 flags)
{
    bool is_rwsem = !(flags & (LCB_F_MUTEX | LCB_F_RT | LCB_F_PERCPU)) && flags;
    struct inode *inode = is_rwsem ? inode_of_lock(lock) : 0;
    __u16 kind = flags & LCB_F_MUTEX ? WP_LOCK_MUTEX
        : flags & LCB_F_RT           ? WP_LOCK_RT
        : flags & LCB_F_PERCPU       ? WP_LOCK_PERCPU
        : !flags                     ? WP_LOCK_SEMAPHORE
        : inode                      ? WP_LOCK_INODE
        : is_mmap_lock(lock)         ? WP_LOCK_MMAP
                                     : WP_LOCK_RWSEM;
    struct file_name name = {};
    if (inode)
        name = name_of_inode(inode);
    __u64 key = name_key(mix(mix(0x6c6f636b, kind | (flags & LCB_F_READ) << 16), name.key));
    if (!is_new_name(key))
        return key;
    struct wait_record *r = RESERVE(struct wait_record, WP_RECORD_WAIT);
    if (!r)
        return key;
    fill_head(&r->head, WP_RECORD_WAIT, current_task());
    __builtin_memset(&r->wait, 0, sizeof(r->wait));
    r->head.a = key;
    r->head.tail = sizeof(r->wait);
    r->wait.type = kind;
    r->wait.is_shared = !!(flags & LCB_F_READ);
    struct dentry *dentry = (struct dentry *)name.dentry;
    if (dentry)
        bpf_probe_read_kernel_str(r->wait.path, sizeof(r->wait.path), BPF_CORE_READ(dentry, d_name.name));
    submit(r);
    return key;
}

/* Number of the thread that holds the lock; 0: not known, or several do. */
static __always_inline __u32 lock_owner(const struct kernel_lock *lock)
{
    struct mutex *mutex = (struct mutex *)lock->address;
    struct rw_semaphore *rwsem = (struct rw_semaphore *)lock->address;
    __u64 owner = 0;
    if (lock->flags & (LCB_F_RT | LCB_F_PERCPU) || !lock->flags)
        return 0;
    if (lock->flags & LCB_F_MUTEX)
        owner = bpf_core_field_exists(mutex->owner) ? (__u64)BPF_CORE_READ(mutex, owner.counter) : 0;
    else if (bpf_core_field_exists(rwsem->owner))
        owner = (__u64)BPF_CORE_READ(rwsem, owner.counter);
    if (!(lock->flags & LCB_F_MUTEX) && owner & RWSEM_READER_OWNED)
        return 0;
    struct task_struct *task = (struct task_struct *)(owner & ~LOCK_OWNER_FLAGS);
    return task ? (__u32)BPF_CORE_READ(task, pid) : 0;
}

/* The current task falls asleep for it. */
static __noinline int fill_kernel_lock(struct wp_record *r, struct kernel_lock *lock)
{
    r->d |= lock->key << 16;
    if (!(r->flags & 4) && (r->a = lock_owner(lock))) /* WP_SWITCH_TIMED */
        r->flags |= 16 | SWITCH_HELD_ANYWHERE;        /* WP_SWITCH_HELD */
    return 0;
}

/* Before contention_begin, so that no lock stays that was begun and not seen to end. */
SEC("tp_btf/contention_end")
int wp_contention_end(unsigned long long *ctx)
{
    if (!wp_lock_waiters)
        return 0;
    struct thread *thread = bpf_task_storage_get(&threads, current_task(), 0, 0);
    if (!thread || thread->kernel_lock.address != ctx[0])
        return 0;
    thread->kernel_lock.address = 0;
    __sync_fetch_and_add(&wp_lock_waiters, -1);
    return 0;
}

static __always_inline int begin_lock(__u64 address, __u32 flags)
{
    struct task_struct *task = current_task();
    if (is_between_windows() || !wp_walk_one_in || !address || task->flags & PF_KTHREAD || !is_here(task) ||
        !is_chosen(task->tgid))
        return 0;
    struct thread *thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
    if (!thread)
        return 0;
    struct kernel_lock *lock = &thread->kernel_lock;
    if (!lock->address)
        __sync_fetch_and_add(&wp_lock_waiters, 1);
    lock->address = address;
    lock->flags = flags;
    lock->key = kernel_lock_key(address, flags);
    return 0;
}

SEC("tp_btf/contention_begin")
int wp_contention_begin(unsigned long long *ctx)
{
    if (ctx[1] & LCB_F_SPIN)
        return 0;
    __u64 began_ns = begin_work();
    begin_lock(ctx[0], (__u32)ctx[1]);
    end_work(began_ns);
    return 0;
}

#endif
