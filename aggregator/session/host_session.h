/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SESSION_HOST_SESSION_H
#define WP_AGGREGATOR_SESSION_HOST_SESSION_H
/*
 * One collector session inside the aggregator: its dictionary, timeline, drops and aggregates, and how far it is
 * resolved. Time is resolved in epochs of the host's own clock once events or watermark have passed them by the
 * lateness allowance; what a commit then writes is one transaction (see commit.h).
 */
#include "aggregator/session/host_session_types.h"
#include "common/error.h"
#include "proto/batch.h"

struct wp_dictionary;
struct wp_interval;
struct wp_logger;
struct wp_mappings;
struct wp_timeline;

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
/* All it had has come: what is left is resolved as soon as the other hosts allow, and is_ended of its progress set
 * then. */
void wp_host_session_close(struct wp_host_session *session);
/* A host of another shard waited on what a thread of this one did: it is followed for that aggregate. -ESTALE: the
 * session is over; other -errno: there is no room. */
int wp_host_session_follow(
    struct wp_host_session *session, const char *aggregate, const char *release, const struct wp_interval *interval);
/* How far it has come since it began, ns of the host. */
uint64_t wp_host_session_age(const struct wp_host_session *session);
/* 0 when it has all batches up to that one; else -ESTALE: one was lost on the way, and the session goes on from there.
 */
int wp_host_session_has_all(const struct wp_host_session *session, uint64_t last_seq, struct wp_error *err);

/* What happens behind its end is in another session of its host. */
void wp_host_session_set_goes_on(struct wp_host_session *session);
/* It is to be closed for the memory that it holds: its reports say so, and it goes on in another one. */
void wp_host_session_shed(struct wp_host_session *session);

/* --- what there is of it; all of it borrowed --- */
/* Stays until the session is destroyed. */
const struct wp_session_source *wp_host_session_source(const struct wp_host_session *session);
/* Changes with the session; the pointer stays valid. */
const struct wp_session_progress *wp_host_session_progress(const struct wp_host_session *session);
/* The same; rows in it may move. */
const struct wp_timeline *wp_host_session_timeline(const struct wp_host_session *session);
/* Those that have not been written yet. */
const struct wp_mappings *wp_host_session_mappings(const struct wp_host_session *session);
/* Ids are those of the session's batches; ids that nothing refers to are forgotten. */
const struct wp_dictionary *wp_host_session_dictionary(const struct wp_host_session *session);
/* Lost events, by kind (WP_EVENT_KINDS). */
const uint64_t *wp_host_session_drops(const struct wp_host_session *session);
/* Events and lost ones since the last call. */
void wp_host_session_arrivals(struct wp_host_session *session, uint64_t *events, uint64_t *drops);

#endif
