/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_COMMIT_COMMIT_METADATA_H
#define WP_AGGREGATOR_COMMIT_COMMIT_METADATA_H
/*
 * What sessions say of their hosts, as metadata of the release and of its aggregates. Keys (wakepath-store(5)):
 * host.NAME.{uuid,kernel,machine,cpus,boot,source,version,label.KEY}, its events and drops, its clock, and
 * network.TO.FROM.{messages,bytes,retransmits,retransmit_bytes}: what was received from hosts that are recorded, and
 * what those sent again; network.TO.{unpaired,ambiguous}: what was not found there.
 */
#include "aggregator/commit/commit_options.h"
#include "aggregator/session/host_session.h"

struct wp_txn;

/* Of all the sessions that are written in one transaction. They are of one fleet. */
int wp_commit_metadata(struct wp_txn *txn, struct wp_host_session *const *sessions, size_t count,
    const struct wp_commit_options *options, const char *release, struct wp_error *err);

#endif
