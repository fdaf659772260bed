/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SHARD_SHARD_ENDS_H
#define WP_AGGREGATOR_SHARD_SHARD_ENDS_H
/* What we tell other shards of our hosts and connections. */
#include "aggregator/peer/shard_state.h"

/* For wp_shards_create(): sets shards->ends and fleet->shards, and watches the fleet's connections from now on.
 * -ENOMEM. */
int wp_shard_ends_create(struct wp_shard_ends **ends, struct wp_shards *shards);
/* After the watchers were taken from the connections (wp_shards_destroy()); NULL is allowed. */
void wp_shard_ends_destroy(struct wp_shard_ends *ends);
/* Sends what is new of hosts, connections and datagrams to all welcome links, if flush_ns has passed since the last
 * time or recordings are replayed. Without memory or a welcome link it is kept for the next time. */
void wp_shard_ends_flush(struct wp_shards *shards);
bool wp_shard_ends_has_hosts(const struct wp_shards *shards); /* that others were sent */

#endif
