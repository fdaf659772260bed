/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SENDER_H
#define WP_COLLECTOR_SENDER_H
/*
 * Batches on their way to an aggregator: kept in memory until they are acknowledged, sent as credit allows, sent again
 * from where the aggregator asks after it was away.
 */
#include "common/log.h"
#include "proto/transport.h"

struct wp_sender;

/* `endpoint` is borrowed for the sender's life. */
int wp_sender_open(struct wp_sender **sender, const char *endpoint, const struct wp_hello *hello,
    const struct wp_logger *logger, struct wp_error *err);
void wp_sender_close(struct wp_sender *sender);
/* Takes in answers and sends what may be sent, waiting up to timeout_ms for an answer. -ECONNREFUSED: refused. */
int wp_sender_pump(struct wp_sender *sender, int timeout_ms, struct wp_error *err);
/* See wp_client_answer_probes. */
void wp_sender_answer_probes(struct wp_sender *sender, uint64_t (*clock_ns)(const void *context), const void *context);
bool wp_sender_is_welcome(const struct wp_sender *sender);
/* Copies a whole frame. Waits while more than the limit is unacknowledged, so that a source slows down or drops. */
int wp_sender_push(struct wp_sender *sender, uint64_t seq, const uint8_t *frame, size_t size, struct wp_error *err);
/* Says goodbye behind the last batch and waits until all is acknowledged. -ETIMEDOUT. */
int wp_sender_finish(struct wp_sender *sender, const struct wp_bye *bye, uint64_t timeout_ms, struct wp_error *err);

#endif
