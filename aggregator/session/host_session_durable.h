/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_HOST_SESSION_DURABLE_H
#define WP_AGGREGATOR_SESSION_HOST_SESSION_DURABLE_H
/* What of a session is written, and what a restart goes on with. */
#include "common/error.h"
#include "proto/batch.h"

#include <stddef.h>
#include <stdint.h>

struct wp_batch_mark;
struct wp_host_session;

/* What is to be appended to the file beside the checkpoints. */
struct wp_pending_dictionary {
    const uint8_t *bytes; /* frames; borrowed until the next batch */
    size_t size;
    uint64_t at; /* in the file; what is behind it there is not valid */
};

/* The batch has been taken in, and before that the timeline had counted so many events, by kind. Without memory for its
 * mark it is acknowledged with a later one. */
void wp_host_session_mark(
    struct wp_host_session *session, const struct wp_batch *batch, const uint64_t events_before[WP_EVENT_KINDS]);
/* The last batch whose events are all before that instant, and none of a later batch is before their end: where a
 * checkpoint can begin. NULL: there is none. Borrowed until the next batch. */
const struct wp_batch_mark *wp_host_session_boundary(const struct wp_host_session *session, uint64_t before_ns);
/* What the batch defined is kept until a checkpoint holds it. -ENOMEM, or what encoding says. */
int wp_host_session_keep_entries(struct wp_host_session *session, const struct wp_batch *batch, struct wp_error *err);
/* Batches up to `seq` need not come again. */
void wp_host_session_acknowledge(struct wp_host_session *session, uint64_t seq);
/* What batches up to `seq` defined and no checkpoint holds. */
struct wp_pending_dictionary wp_host_session_pending(const struct wp_host_session *session, uint64_t seq);
/* That has been written. */
void wp_host_session_forget_pending(struct wp_host_session *session, uint64_t seq);
/* The highest batch whose effect is in what has been resolved. */
uint64_t wp_host_session_durable_seq(struct wp_host_session *session);

#endif
