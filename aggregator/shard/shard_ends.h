/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SHARD_SHARD_ENDS_H
#define WP_AGGREGATOR_SHARD_SHARD_ENDS_H
/* What we tell other shards of our hosts and connections. */
#include "aggregator/peer/shard_state.h"

int wp_shard_ends_create(struct wp_shard_ends **ends, struct wp_shards *shards);
void wp_shard_ends_destroy(struct wp_shard_ends *ends);
void wp_shard_ends_flush(struct wp_shards *shards);
bool wp_shard_ends_has_hosts(const struct wp_shards *shards); /* that others were sent */

#endif
