/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SPOOL_SPOOL_RANGE_H
#define WP_COLLECTOR_SPOOL_SPOOL_RANGE_H
/*
 * Batches without events, many in one frame of the spool: each as it will be sent, those that carry nothing as a range.
 * It takes what their dictionary entries take and nearly nothing besides, however long a session lasts.
 */
#include "common/buffer.h"
#include "common/error.h"
#include "proto/batch.h"

struct wp_spool_range; /* being made, and the one that was read last */

/* NULL: out of memory. Call begin before add, and load before find. */
struct wp_spool_range *wp_spool_range_create(void);
/* Frees it, with what was not finished and the bytes it returned. NULL is allowed. */
void wp_spool_range_destroy(struct wp_spool_range *range);

/* Begins an empty one. */
void wp_spool_range_begin(struct wp_spool_range *range);
/* Numbers follow each other. -ENOMEM, -EINVAL. */
int wp_spool_range_add(struct wp_spool_range *range, const struct wp_batch *batch, struct wp_error *err);
/* True when it should be finished before more is added. */
bool wp_spool_range_is_full(const struct wp_spool_range *range);
/* Appends its frame to `out`. */
int wp_spool_range_finish(struct wp_spool_range *range, struct wp_buffer *out, struct wp_error *err);

/* Takes a frame in, for the calls below. -EBADMSG. */
int wp_spool_range_load(struct wp_spool_range *range, const uint8_t *frame, size_t size, struct wp_error *err);
/* Raw bytes of a batch, valid until the next load; *size 0: it carries nothing. -ENOENT: not in it. */
int wp_spool_range_find(struct wp_spool_range *range, uint64_t seq, const uint8_t **raw, size_t *size);

#endif
