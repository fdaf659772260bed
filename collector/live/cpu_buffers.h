/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_CPU_BUFFERS_H
#define WP_COLLECTOR_LIVE_CPU_BUFFERS_H
/*
 * Reads the processors' buffers of records without tails (collector/bpf/cpu_buffer.h) in place, a round at a time, all
 * in one order: by where the ring was, then by time.
 */
#include "collector/bpf/ring_record.h"

#include <stdbool.h>

struct wp_cpu_buffers;

/* The maps of the buffers and their sizes, which must be those that the BPF programs use. */
struct wp_cpu_buffers_options {
    int cursors_fd, slots_fd; /* of the maps; borrowed while it is created */
    unsigned cpus;            /* that have a buffer */
    uint32_t slots;           /* of each, a power of two */
};

/* -errno. */
int wp_cpu_buffers_create(struct wp_cpu_buffers **buffers, const struct wp_cpu_buffers_options *options);
/* Unmaps the buffers and with them the slots it returned; the maps stay. NULL is allowed. */
void wp_cpu_buffers_destroy(struct wp_cpu_buffers *buffers);
/* A round begins: of what is there now. */
void wp_cpu_buffers_begin(struct wp_cpu_buffers *buffers);
/* Does more than a quarter of one of them wait now? */
bool wp_cpu_buffers_are_filling(const struct wp_cpu_buffers *buffers);
/* The round's next slot that was written when no more than so many bytes had been given out in the ring; NULL: there is
 * none. Valid until the next call. */
const struct wp_cpu_slot *wp_cpu_buffers_next(struct wp_cpu_buffers *buffers, uint64_t position);
/* The round is over, whether all was taken or not. */
void wp_cpu_buffers_end(struct wp_cpu_buffers *buffers);

#endif
