/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_PEER_SHARD_STUBS_H
#define WP_AGGREGATOR_PEER_SHARD_STUBS_H
/* What other shards report of their hosts and connections. */
#include "aggregator/peer/shard_state.h"

/* Facts from that shard, checked before (shard_wire.h), borrowed. Those of another run of it are ignored; what finds no
 * room or memory is left out. */
void wp_shard_stubs_take(struct wp_shards *shards, uint32_t shard, const Wakepath__Shard__Facts *facts);

#endif
