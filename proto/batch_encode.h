/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_BATCH_ENCODE_H
#define WP_PROTO_BATCH_ENCODE_H
/* A batch (proto/batch.h) to its form on the wire. */
#include "common/buffer.h"
#include "common/error.h"
#include "proto/batch.h"

/* Appends the protobuf form. The batch is the caller's and must be sorted. -ENOMEM, -EINVAL. */
int wp_batch_encode(const struct wp_batch *batch, struct wp_buffer *out, struct wp_error *err);
/* The same as a peer of wire minor version `minor` reads it. Events of a kind that it does not know are the caller's.
 */
int wp_batch_encode_for(const struct wp_batch *batch, uint32_t minor, struct wp_buffer *out, struct wp_error *err);

#endif
