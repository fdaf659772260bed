/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_RING_FACTS_H
#define WP_COLLECTOR_RING_FACTS_H
/*
 * Records of the ring (collector/bpf/ring_record.h) as facts. They are copied out of the ring first, so that it is empty again
 * soon; a copy in a file is what tests/bench/ring.c replays.
 */
#include "collector/bpf/ring_record.h"
#include "collector/source.h"
#include "common/buffer.h"

struct wp_file_paths;

/* Appends a record: its size as u64, its bytes, padded to 8; a short one is made whole. -ENOMEM. */
int wp_ring_facts_keep(struct wp_buffer *records, const void *bytes, size_t size);
/* The record at *at (0 to begin with), which is moved behind it; size: with its tail. NULL: that was the last one. */
const struct wp_record *wp_ring_facts_next(const struct wp_buffer *records, size_t *at, size_t *size);
/* Tells the sink; what paths are for block requests is kept in `paths` too. The sink's answer. */
int wp_ring_fact(const struct wp_record *record, size_t size, struct wp_file_paths *paths, const struct wp_sink *sink,
    struct wp_error *err);

#endif
