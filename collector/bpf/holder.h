/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
#ifndef WP_COLLECTOR_BPF_HOLDER_H
#define WP_COLLECTOR_BPF_HOLDER_H
/*
 * Who holds the lock that a thread goes to sleep for, as the lock's memory says: the word of a futex holds the holder's
 * thread number (mutexes of musl, robust ones and those that inherit priority; the word that pthread_join waits for),
 * or it is 2 and the number stands behind it (pthread_mutex_t of glibc: __lock, __count, __owner). Of a read-write lock
 * the word is 3 (pthread_rwlock_t of glibc 2.25: __wrphase_futex, __writers_futex, __pad, __pad, __cur_writer; threads
 * sleep on the first two), and the number is the one that has it to write. What looks like one
 * is only a candidate: whether a thread of the process has that number is asked where all of them are known.
 */
#include "wait.h"

#define FUTEX_TID_MASK 0x3fffffff /* include/uapi/linux/futex.h */
#define LOCK_CONTENDED 2
#define RWLOCK_CONTENDED 3

/* Of the current task, in `number` (+ 1); 0: none that is known. */
static __always_inline __u32 holder_of(struct pt_regs *regs, __u32 number)
{
#if defined(__TARGET_ARCH_x86)
    struct {
        __u32 word, count, owner, behind_3, behind_4;
    } lock;
    if (!regs || number != CALL_FUTEX + 1 || bpf_probe_read_user(&lock, sizeof(lock), (void *)regs->di))
        return 0;
    __u32 word = lock.word & FUTEX_TID_MASK;
    if (word == RWLOCK_CONTENDED)
        word = lock.behind_3 ? lock.behind_3 : lock.behind_4;
    __u32 holder = word == LOCK_CONTENDED ? lock.owner : word;
    return holder > LOCK_CONTENDED && holder <= FUTEX_TID_MASK ? holder : 0;
#else
    return 0;
#endif
}

#endif
