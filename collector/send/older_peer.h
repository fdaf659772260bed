/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SEND_OLDER_PEER_H
#define WP_COLLECTOR_SEND_OLDER_PEER_H
/*
 * What an aggregator of an older wire version is sent in place of batches that it would refuse. Those before 1.5 know
 * nothing of turns of unix streams, those before 1.6 of reasons to be off a CPU, and are not told. Those before 1.7
 * read times in one column. Those before 1.2
 * know nothing of recordings that pause: of a pause, also one that was recorded before it was known who would take the
 * batch (in the spool, in a capture, before another aggregator went away), they hear as of time that is missing, which
 * is uncertain to them.
 */
#include "common/error.h"
#include "proto/session.h"

#include <stddef.h>
#include <stdint.h>

struct wp_older_peer;

/* NULL: out of memory. One serves any number of batches and versions. */
struct wp_older_peer *wp_older_peer_create(void);
/* Frees it with the frame it returned last. NULL is allowed. */
void wp_older_peer_destroy(struct wp_older_peer *peer);
/* *frame and *size, a Batch, become what `minor` can read: themselves, or a frame that is valid until the next call.
 * -errno: as of decoding. */
int wp_older_peer_batch(
    struct wp_older_peer *peer, uint32_t minor, const uint8_t **frame, size_t *size, struct wp_error *err);

#endif
