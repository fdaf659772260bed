/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_LIVE_RING_READER_H
#define WP_COLLECTOR_LIVE_RING_READER_H
/*
 * Reads a BPF ring buffer (BPF_MAP_TYPE_RINGBUF, kernel/bpf/ringbuf.c) in place, a round at a time: what is in it when
 * the round begins, or less. libbpf's reader calls back for each record and tells the kernel of each; this one tells
 * now and then.
 *
 * A wait ends when the programs wake the reader, when a watched descriptor can be read, and at its time. It does not
 * end because there is something in the ring, which there always is: libbpf's descriptor, polled, would make of that a
 * busy loop.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wp_ring_reader;

/* -errno. The descriptor of the map is borrowed, until destroy. `bytes`: of the ring. */
int wp_ring_reader_create(struct wp_ring_reader **reader, int map_fd, size_t bytes);
/* Unmaps the ring and with it the records it returned; the map's descriptor stays open. NULL is allowed. */
void wp_ring_reader_destroy(struct wp_ring_reader *reader);
/* Waits end when this can be read too. Once it is closed it is forgotten; a second call does no harm. -errno. */
int wp_ring_reader_watch(struct wp_ring_reader *reader, int fd);
/* Waits as described above. timeout_ms 0: not at all, -1: without a limit. A signal ends the wait, too. */
void wp_ring_reader_wait(struct wp_ring_reader *reader, int timeout_ms);
/* A round begins: up to `most` bytes of what is there now. */
void wp_ring_reader_begin(struct wp_ring_reader *reader, size_t most);
/* Is more than a quarter of the ring not the kernel's now? What was read is, once the kernel was told: now and then. */
bool wp_ring_reader_is_filling(const struct wp_ring_reader *reader);
/* The round's next record, valid until the call after next; NULL: the round is over. */
const void *wp_ring_reader_next(struct wp_ring_reader *reader, size_t *size);
/* Where the record that was given out last begins, after NULL where the round ended: bytes since the ring was made. */
uint64_t wp_ring_reader_position(const struct wp_ring_reader *reader);
/* What was given out last will be given out once more. */
void wp_ring_reader_back(struct wp_ring_reader *reader);
/* The round is over, whether all was taken or not: what was taken is the kernel's again. True: the bound of `most`
 * ended it. */
bool wp_ring_reader_end(struct wp_ring_reader *reader);

#endif
