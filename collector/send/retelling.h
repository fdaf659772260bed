/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SEND_RETELLING_H
#define WP_COLLECTOR_SEND_RETELLING_H
/*
 * A session that an aggregator takes no further, since it is too large: what it has still to say is
 * sent as another one. Which one, and what it says, follows from the session and from how far it was taken: repeated
 * after a crash it is the same.
 */
#include "collector/send/sender.h"

struct wp_retelling;

/* All borrowed. */
struct wp_retelling_options {
    const struct wp_hello *hello; /* of the session */
    struct wp_send_queue *source; /* has what all its batches define */
    const struct wp_endpoints *endpoints;
    const struct wp_logger *logger;
    const uint8_t *successor; /* 16 bytes: of the session; zeros: none */
};

/* Begins behind the last batch that is acknowledged in the source; wp_retelling_pump connects. -ENOMEM. */
int wp_retelling_create(
    struct wp_retelling **retelling, const struct wp_retelling_options *options, struct wp_error *err);
/* Closes the connection and drops what has not arrived; the source does not change. NULL is allowed. */
void wp_retelling_destroy(struct wp_retelling *retelling);
/* Does what can be done without waiting. 1: all has arrived, 0: not yet. -ECONNREFUSED: nobody takes it; what has
 * arrived is acknowledged in the source. */
int wp_retelling_pump(struct wp_retelling *retelling, struct wp_error *err);
/* Of the source: what has arrived up to now. */
uint64_t wp_retelling_acked(const struct wp_retelling *retelling);

#endif
