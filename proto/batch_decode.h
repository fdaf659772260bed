/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_BATCH_DECODE_H
#define WP_PROTO_BATCH_DECODE_H
/* A batch (proto/batch.h) of its form on the wire: a peer's bytes, bounds first. */
#include "common/error.h"
#include "proto/batch.h"

/* Decodes hostile bytes: every count, size, kind and time is bounded; ids are checked by the dictionary.
 * `batch` may be reused: its storage is kept and grown (no allocation in steady state). Free with wp_batch_fini. */
int wp_batch_decode(struct wp_batch *batch, const uint8_t *bytes, size_t size, struct wp_error *err);
/* Frees the storage and zeroes the batch: rows and texts of it are invalid then. A zeroed batch is allowed. */
void wp_batch_fini(struct wp_batch *batch);

#endif
