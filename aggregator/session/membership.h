/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_MEMBERSHIP_H
#define WP_AGGREGATOR_SESSION_MEMBERSHIP_H
/*
 * Which aggregates a process is of interest to, and in which release. A process' release is what it says itself
 * (WAKEPATH_RELEASE in its environment), else what a rule says of it, else the host's.
 */
#include <stdint.h>

struct wp_host_session;
struct wp_timeline;

/* Sets the memberships of a new identity; `context` is the session. */
void wp_membership_of(void *context, struct wp_timeline *timeline, uint32_t identity);
/* Makes aggregates of the services that were busiest so far. */
void wp_membership_choose(struct wp_host_session *session);
/* The session's rules are others now: all identities are judged anew, for the time that is not resolved yet. Of
 * NULL and of a session that has ended: nothing. */
void wp_membership_anew(struct wp_host_session *session);

/* The service is one that has an aggregate. */
void wp_host_session_serve(struct wp_host_session *session, const char *service);

#endif
