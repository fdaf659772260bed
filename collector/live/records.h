/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_RECORDS_H
#define WP_COLLECTOR_LIVE_RECORDS_H
/*
 * All that the BPF programs write (collector/bpf/ring_record.h), from the ring and from the processors' buffers, in one
 * order: what a record of a buffer refers to was put into the ring before it was written, and comes before it; what was
 * put there after it comes after.
 */
#include "collector/live/cpu_buffers.h"

#include <stdbool.h>
#include <stddef.h>

struct wp_records;

/* The maps that the programs write to; wp_programs_records fills it in. */
struct wp_records_options {
    int ring_fd; /* of the map; borrowed, until destroy */
    size_t ring_bytes;
    struct wp_cpu_buffers_options buffers;
};

/* -errno. */
int wp_records_create(struct wp_records **records, const struct wp_records_options *options);
/* Unmaps ring and buffers and with them the records it returned. NULL is allowed. */
void wp_records_destroy(struct wp_records *records);
/* As wp_ring_reader_watch, _wait and _begin. */
int wp_records_watch(struct wp_records *records, int fd);
/* As wp_ring_reader_wait; programs that fill the buffers wake the reader through the ring. */
void wp_records_wait(struct wp_records *records, int timeout_ms);
/* `most` bounds the bytes of the ring; of the buffers the round takes all that is there now. */
void wp_records_begin(struct wp_records *records, size_t most);
/* Is there so little room for more, whatever the round is, that who reads should not pause? */
bool wp_records_are_filling(const struct wp_records *records);
/* The round's next record, of WP_RECORD_SHORT or WP_RECORD_QUICK bytes or with its tail; valid until the next call.
 * NULL: the round is over. */
const void *wp_records_next(struct wp_records *records, size_t *size);
/* As wp_ring_reader_end. */
bool wp_records_end(struct wp_records *records);

#endif
