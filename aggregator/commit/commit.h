/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_COMMIT_COMMIT_H
#define WP_AGGREGATOR_COMMIT_COMMIT_H
/* Writes what sessions have resolved since the last commit to the store: a transaction a release for all of them, all
 * or nothing. */
#include "aggregator/commit/commit_options.h"
#include "aggregator/session/host_session.h"
#include "storage/env/store.h"

/* Reports as deltas, exemplars and clock, genealogy, source map, metadata, resume point. At the end of a session the
 * deltas are compacted. On success the aggregates start a new delta, unless nothing is written for want of time. */
int wp_commit_sessions(struct wp_store *store, struct wp_host_session *const *sessions, size_t count,
    const struct wp_commit_options *options, struct wp_error *err);

#endif
