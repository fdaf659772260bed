/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_SEND_BACKLOG_H
#define WP_COLLECTOR_SEND_BACKLOG_H
/*
 * What earlier collectors left in the spool: each session is delivered as the one it was, over one more connection
 * beside the current one, oldest first, and then removed.
 */
#include "collector/send/sender.h"

struct wp_backlog;
struct wp_losses;

/* All borrowed. */
struct wp_backlog_options {
    struct wp_spool *spool;
    const struct wp_endpoints *endpoints;
    const struct wp_logger *logger;
    size_t session_bytes;     /* bound of the dictionary of a session that is reissued */
    struct wp_losses *losses; /* gets what nobody takes */
};

/* Opens no connection yet, the first pump does. -ENOMEM. */
int wp_backlog_create(struct wp_backlog **backlog, const struct wp_backlog_options *options, struct wp_error *err);
/* Breaks off the current delivery, whose session stays in the spool. Must precede the closing of the spool. NULL is
 * allowed. */
void wp_backlog_destroy(struct wp_backlog *backlog);
/* Does what can be done without waiting. What fails is logged and stays in the spool. */
void wp_backlog_pump(struct wp_backlog *backlog);
/* True when no session waits or is being delivered; those that were set aside after an error do not count. */
bool wp_backlog_is_done(const struct wp_backlog *backlog);

#endif
