/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_SESSION_AGGREGATES_H
#define WP_AGGREGATOR_SESSION_SESSION_AGGREGATES_H
/* The aggregates of a session: made, and told what a checkpoint says of their threads. */
#include <stdint.h>

struct wp_aggregate;
struct wp_host_session;
struct wp_late_thread;

/* The aggregate of that name and release, made when new; NULL: no room. */
struct wp_aggregate *wp_host_session_aggregate(struct wp_host_session *session, const char *name, const char *release);
/* All of them; borrowed until the next one is made. */
struct wp_aggregate *const *wp_host_session_aggregates(const struct wp_host_session *session, uint32_t *count);
/* For a checkpoint that is read: copies the row, whose aggregate is one of the session's. -ENOMEM. */
int wp_host_session_add_late(struct wp_host_session *session, const struct wp_late_thread *late);
/* The identity has come up. */
void wp_host_session_take_late(struct wp_host_session *session, uint32_t identity);
/* How much of that time lost events touch; `session` is a struct wp_host_session. */
uint64_t wp_host_session_dropped(const void *session, uint64_t start_ns, uint64_t end_ns);

#endif
