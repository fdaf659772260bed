/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SEND_SENDER_H
#define WP_COLLECTOR_SEND_SENDER_H
/*
 * One session's batches on their way from its queue to an aggregator: sent as credit allows, and again from where the
 * aggregator asks after it was away. With several endpoints the next is tried when one does not answer for five
 * seconds.
 */
#include "collector/send/send_queue.h"
#include "proto/transport_client.h"

#define WP_ENDPOINTS 16u

/* The aggregators that may take a session, in the order in which they are tried. */
struct wp_endpoints {
    const char *names[WP_ENDPOINTS]; /* borrowed, as all texts here */
    unsigned count;
    const char *key_path;                       /* for tcp://; see wp_client_options */
    const char *server_key_paths[WP_ENDPOINTS]; /* one for all, or one for each */
    unsigned server_key_count;
    bool is_insecure;
};

struct wp_sender;

/* All are borrowed for the sender's life, `hello` until the sender is closed. */
int wp_sender_open(struct wp_sender **sender, const struct wp_endpoints *endpoints, const struct wp_hello *hello,
    struct wp_send_queue *queue, const struct wp_logger *logger, struct wp_error *err);
/* Closes the connection without waiting; unacknowledged batches stay in the queue. NULL is allowed. */
void wp_sender_close(struct wp_sender *sender);
/* Takes in answers and sends what may be sent, waiting up to timeout_ms for an answer. -ECONNREFUSED: refused, by each.
 */
int wp_sender_pump(struct wp_sender *sender, int timeout_ms, struct wp_error *err);
/* See wp_client_answer_probes. */
void wp_sender_answer_probes(struct wp_sender *sender, uint64_t (*clock_ns)(const void *context), const void *context);
/* Whether the aggregator that it talks to now has accepted the session, so that batches are sent. */
bool wp_sender_is_welcome(const struct wp_sender *sender);
/* The batch from which on the last Welcome wants them; 0: none came. */
uint64_t wp_sender_wanted(const struct wp_sender *sender);
/* What the aggregator says of names (proto/transport_client.h); of each that it talks to from now on. */
void wp_sender_take_names(struct wp_sender *sender,
    void (*take)(void *context, enum wp_frame_type type, const uint8_t *raw, size_t size), void *context);
/* Whether it knows names and listens; and a message to it, -EAGAIN: not now. */
bool wp_sender_knows_names(const struct wp_sender *sender);
/* Sends a copy of the message. -EAGAIN also without a connection; else as wp_client_send_names. */
int wp_sender_send_names(struct wp_sender *sender, enum wp_frame_type type, const uint8_t *raw, size_t size);
/* As wp_client_fd, of the aggregator that it talks to now. */
int wp_sender_fd(const struct wp_sender *sender);
/* When to record, as an aggregator said last; unsaid: as this host likes. */
struct wp_window wp_sender_window(struct wp_sender *sender);
uint64_t wp_sender_absent_ms(const struct wp_sender *sender);  /* since an aggregator was there */
const char *wp_sender_trouble(const struct wp_sender *sender); /* why none is, as far as is known; "" else */
/* Puts it into the queue. Waits while memory is full of what is unacknowledged, so that a source slows down or drops.
 */
int wp_sender_push(
    struct wp_sender *sender, const struct wp_batch *batch, const uint8_t *frame, size_t size, struct wp_error *err);
/* One step to the end: says goodbye behind the last batch. 1: all is acknowledged, 0: not yet; pump in between. */
int wp_sender_end(struct wp_sender *sender, const struct wp_bye *bye, struct wp_error *err);
/* All steps. -ETIMEDOUT: batches are lost; what is in the spool is not. While batches are in memory alone (no spool, or
 * its disk is full) the time begins anew with each that is acknowledged or taken in. */
int wp_sender_finish(struct wp_sender *sender, const struct wp_bye *bye, uint64_t timeout_ms, struct wp_error *err);

#endif
