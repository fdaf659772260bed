/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_HOST_SESSION_H
#define WP_AGGREGATOR_SESSION_HOST_SESSION_H
/*
 * One collector session inside the aggregator: its dictionary, timeline, drops and aggregates, and how far it is
 * resolved. Time is resolved in epochs of the host's own clock once events or watermark have passed them by the
 * lateness allowance; what a commit then writes is one transaction (see commit.h).
 */
#include "aggregator/session/host_session_types.h"

/* The first second of the timebox that the deltas belong to. */
uint64_t wp_host_session_timebox(const struct wp_host_session *session, uint64_t timebox_s);

/* `hello` is copied. The session's release is the hello's, or `default_release`. */
int wp_host_session_create(struct wp_host_session **session, const struct wp_hello *hello, const char *default_release,
    const struct wp_host_session_options *options, const struct wp_logger *logger, struct wp_error *err);
/* Leaves the fleet and frees all; deltas that were not committed are lost. Before its fleet goes; NULL is allowed. */
void wp_host_session_destroy(struct wp_host_session *session);
/* Takes one decoded batch and resolves the epochs that its events have passed. A batch that was taken before is ignored
 * (0); a gap is -ESTALE; a bad one -EINVAL, and the session is then in the state before it. */
int wp_host_session_take(struct wp_host_session *session, const struct wp_batch *batch, struct wp_error *err);
/* Resolves the epochs that the watermark and the other hosts allow. */
void wp_host_session_resolve(struct wp_host_session *session);
/* All it had has come: what is left is resolved as soon as the other hosts allow, and is_ended set then. */
void wp_host_session_close(struct wp_host_session *session);
/* A host of another shard waited on what a thread of this one did: it is followed for that aggregate. -ESTALE: the
 * session is over; other -errno: there is no room. */
int wp_host_session_follow(
    struct wp_host_session *session, const char *aggregate, const char *release, const struct wp_interval *interval);
/* For a checkpoint that is read: copies the row, whose aggregate is one of the session's. -ENOMEM. */
int wp_host_session_add_late(struct wp_host_session *session, const struct wp_late_thread *late);

/* How far it has come since it began, ns of the host. */
uint64_t wp_host_session_age(const struct wp_host_session *session);
/* 0 when it has all batches up to that one; else -ESTALE: one was lost on the way, and the session goes on from there.
 */
int wp_host_session_has_all(const struct wp_host_session *session, uint64_t last_seq, struct wp_error *err);

/* Events before that resolve nothing, so that they need not be asked; 0: it is not known yet. */
static inline uint64_t wp_host_session_due_ns(const struct wp_host_session *session)
{
    const struct wp_host_session_options *options = session->options;
    bool is_known = session->resolved_ns && (!options->auto_aggregates || session->is_auto_chosen);
    return is_known ? session->resolved_ns + options->epoch_ns + options->lateness_ns : 0;
}

#endif
