/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_SESSION_AGGREGATES_H
#define WP_AGGREGATOR_SESSION_SESSION_AGGREGATES_H
/* The aggregates of a session: made, and told what a checkpoint says of their threads. */
#include "aggregator/session/host_session_types.h"

/* The aggregate of that name and release, made when new; NULL: no room. */
struct wp_aggregate *wp_host_session_aggregate(struct wp_host_session *session, const char *name, const char *release);
/* The identity has come up. */
void wp_host_session_take_late(struct wp_host_session *session, uint32_t identity);
/* How much of that time lost events touch; `session` is a struct wp_host_session. */
uint64_t wp_host_session_dropped(const void *session, uint64_t start_ns, uint64_t end_ns);

#endif
