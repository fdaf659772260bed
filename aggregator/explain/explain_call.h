/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_EXPLAIN_EXPLAIN_CALL_H
#define WP_AGGREGATOR_EXPLAIN_EXPLAIN_CALL_H
/* What a sleep's system call says of what it waits for. Private to the explanation. */
#include "aggregator/timeline/timeline_types.h"

#define WP_CALL_FUTEX 202 /* of x86-64, as all numbers of calls are here */

/* In a call that sends: it waits for room, which the other end makes by reading. */
bool wp_wait_is_sending(const struct wp_slice *slice);

/* In a call that reads from one file or socket: read, readv, recvfrom, recvmsg. */
static inline bool wp_wait_is_reading(const struct wp_slice *slice)
{
    unsigned call = slice->syscall - 1u;
    return call <= 47 && (UINT64_C(1) | UINT64_C(1) << 19 | UINT64_C(1) << 45 | UINT64_C(1) << 47) >> call & 1;
}

/* The place of a sleep: its stack, what it waits for, its call. */
static inline uint64_t wp_wait_site(const struct wp_slice *slice)
{
    return (uint64_t)slice->stack << 32 | (uint64_t)slice->wait << 16 | slice->syscall;
}

/* In a call that waits for whatever comes first of several: select, poll, epoll, io_uring. */
bool wp_wait_is_choosing(const struct wp_slice *slice);

/* In a call that waits for a child: wait4, waitid. */
bool wp_wait_is_for_child(const struct wp_slice *slice);

/* In a call whose end the thread needs to go on, and in which nobody waits for work: connect, a lock of a file, room to
 * send, a child; or for the disk or the kernel itself. */
bool wp_wait_is_for_outcome(const struct wp_slice *slice);

#endif
