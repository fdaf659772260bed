/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_READS_H
#define WP_AGGREGATOR_NET_READS_H
/*
 * What each thread read from connections that others opened, and each datagram: whom its work is for from then on.
 * Remembered as long as messages are. Fed in the order of time. Not thread safe.
 */
#include "aggregator/net/thread_rings.h"

/* One read of a thread. */
struct wp_read {
    uint64_t time_ns;
    uint64_t position; /* behind its last byte, or the datagram's, as wp_messages_position() has it */
    uint32_t socket;
};

/* Embedded; wp_reads_init() comes first. */
struct wp_reads {
    struct wp_thread_rings rings; /* of struct wp_read */
};

/* Allocates nothing. */
void wp_reads_init(struct wp_reads *reads);
/* Forgets all threads and frees the table; it may be used again. */
void wp_reads_fini(struct wp_reads *reads);
/* The thread of that index is gone. */
void wp_reads_forget(struct wp_reads *reads, uint32_t thread);
/* What is held on the heap. */
size_t wp_reads_bytes(const struct wp_reads *reads);
/* Copies a read; one that is older than the last of its thread is left out. Out of memory: it is not remembered. */
void wp_reads_add(struct wp_reads *reads, uint32_t thread, const struct wp_read *read);
/* The first read of the thread at `since_ns` or later. False: none is known, and *read is left alone. */
bool wp_reads_next(const struct wp_reads *reads, uint32_t thread, uint64_t since_ns, struct wp_read *read);
/* The last one before that. False: likewise. */
bool wp_reads_before(const struct wp_reads *reads, uint32_t thread, uint64_t before_ns, struct wp_read *read);

#endif
