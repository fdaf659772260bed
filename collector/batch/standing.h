/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_BATCH_STANDING_H
#define WP_COLLECTOR_BATCH_STANDING_H
/*
 * How the threads and connections of a session stand after so many of its events: what a session that goes on behind it
 * must be told first. Ids are the session's.
 */
#include "proto/event.h"

#include <stdbool.h>

struct wp_standing;

/* Begins without any thread or connection. NULL: out of memory. */
struct wp_standing *wp_standing_create(void);
/* Frees it with all threads and connections. NULL is allowed. */
void wp_standing_destroy(struct wp_standing *standing);
/* Applies the session's next event, in order of time. Without memory the event's thread or connection is left out. */
void wp_standing_take(struct wp_standing *standing, const struct wp_event *event);
/* Between two windows: how threads stand is not known. */
bool wp_standing_is_paused(const struct wp_standing *standing);
/* Calls `tell` with a STATE event for each thread that lives and a SOCK_STATE event for each connection that is open
 * and whose beginning was seen, at that time. Stops at the first that is not 0. */
int wp_standing_tell(const struct wp_standing *standing, uint64_t time_ns,
    int (*tell)(void *context, struct wp_event *event), void *context);

#endif
