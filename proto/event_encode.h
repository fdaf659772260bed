/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_PROTO_EVENT_ENCODE_H
#define WP_PROTO_EVENT_ENCODE_H
/*
 * The column that events travel in, written without the messages of protobuf-c in between: a batch is nearly nothing
 * else, and a collector writes one for every hundred thousand events of a host.
 */
#include "common/buffer.h"
#include "common/error.h"
#include "proto/event.h"

/* Appends the field `events` of message Batch (wakepath.proto). At most WP_BATCH_EVENTS, in order of time. Works in the
 * free room of `out`, of which it needs some 105 bytes an event: a buffer that is cleared and used again takes no new
 * memory. A peer of wire minor version `minor` reads it. -EINVAL, -ENOMEM. */
int wp_event_encode(
    const struct wp_event *events, uint32_t count, uint32_t minor, struct wp_buffer *out, struct wp_error *err);

#endif
