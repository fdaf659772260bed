/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_OTHER_PATHS_H
#define WP_AGGREGATOR_ACCOUNT_OTHER_PATHS_H
/*
 * What was waited for on other control paths: each interval is explained as a path of its own, once, however many
 * waited for it; what it waits for on others again in the next round. Of an aggregate, which includes
 * wp_aggregate_ask() and wp_aggregate_follow_asked().
 */
#include "aggregator/fleet/fleet.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_aggregate;
struct wp_sink;
struct wp_interval;

/* A sink's `other_path`, of an aggregate as context: it waits to be followed. */
void wp_other_paths_take(void *aggregate, const struct wp_interval *interval);
/* Follows all that waits; false: a part of it (wp_aggregate_pauses). */
bool wp_other_paths_follow(struct wp_aggregate *aggregate, const struct wp_sink *sink);
/* The same of those that other shards asked for, up to there. The sink marks no slices, as those of the asker's own
 * paths would not. */
bool wp_other_paths_follow_asked(struct wp_aggregate *aggregate, uint64_t until_ns, const struct wp_sink *sink);
/* Which ones of its own host were followed before that; the others' are forgotten by their own sessions. */
void wp_other_paths_forget(struct wp_aggregate *aggregate, uint64_t horizon_ns);
/* Frees the aggregate's lists of intervals that wait or are being followed; those followed are the fleet's. The lists
 * are not zeroed: the aggregate is not used for anything after this. */
void wp_other_paths_fini(struct wp_aggregate *aggregate);

/* A host of another shard waited on what that thread of this host did: 0, -ENOBUFS (too much of that), -ENOMEM. */
int wp_aggregate_ask(struct wp_aggregate *aggregate, const struct wp_interval *interval);
/* Follows what others asked for up to there, and reports it; false: a part of it. */
bool wp_aggregate_follow_asked(struct wp_aggregate *aggregate, uint64_t until_ns);

#endif
