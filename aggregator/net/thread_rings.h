/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_THREAD_RINGS_H
#define WP_AGGREGATOR_NET_THREAD_RINGS_H
/*
 * A ring of rows for each thread, remembered as long as messages are (message_ring.h). A row begins with its time. Fed
 * in the order of time. Not thread safe.
 */
#include "aggregator/net/message_ring.h"
#include "common/idtable.h"

/* The rows of one thread. */
struct wp_thread_ring {
    void *rows; /* owned */
    struct wp_message_ring ring;
};

/* Embedded; wp_thread_rings_init() comes first. */
struct wp_thread_rings {
    struct wp_idtable threads; /* struct wp_thread_ring, by thread index */
    size_t row_size, row_bytes;
};

/* Allocates nothing. row_size: of one row, in bytes. */
void wp_thread_rings_init(struct wp_thread_rings *rings, size_t row_size);
/* Forgets all threads and frees the table; it may be used again. */
void wp_thread_rings_fini(struct wp_thread_rings *rings);
/* The thread of that index is gone. */
void wp_thread_rings_forget(struct wp_thread_rings *rings, uint32_t thread);
/* What is held on the heap. */
size_t wp_thread_rings_bytes(const struct wp_thread_rings *rings);
/* Copies a row. False: it is older than the last of its thread, and left out. Out of memory: it is not remembered. */
bool wp_thread_rings_add(struct wp_thread_rings *rings, uint32_t thread, const void *row);
/* The thread's rows; NULL: it has none. */
const struct wp_thread_ring *wp_thread_rings_of(const struct wp_thread_rings *rings, uint32_t thread);
/* The number of the first of them at `time_ns` or later; ring.end when there is none. */
uint64_t wp_thread_ring_since(const struct wp_thread_ring *list, size_t row_size, uint64_t time_ns);

#endif
