/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_PEER_SHARD_PEERS_H
#define WP_AGGREGATOR_PEER_SHARD_PEERS_H
/* Who is there of the other shards, and what of them the explanation sees. For shard_state.h. */
#include "aggregator/peer/shard_state.h"

bool wp_shards_has_link(const struct wp_shards *shards, uint32_t shard);       /* welcome or not */
uint32_t wp_shards_link_to(const struct wp_shards *shards, uint32_t shard);    /* UINT32_MAX: none that is welcome */
struct wp_stub *wp_shards_stub(const struct wp_shards *shards, uint32_t host); /* of a foreign host */
const uint8_t *wp_shards_own_session(const struct wp_shards *shards, uint32_t host); /* 16 bytes */
/* Packs the message and sends it over that link; borrowed. -errno of packing or of the `tell` option: it did not go. */
int wp_shards_tell(struct wp_shards *shards, uint32_t link, enum wp_frame_type type, const ProtobufCMessage *message);
/* The foreign host leaves the fleet, and its stub is freed. `index` is in shards->stubs, whose last one takes that
 * place. */
void wp_shards_remove_stub(struct wp_shards *shards, uint32_t index);

/* One question more (or less) is open for that question of others (an owner with WP_SHARDS_ASKED). */
void wp_shards_count_open(struct wp_shards *shards, uint32_t owner, int change);

/* Questions of that owner that are neither answered nor given up. */
uint32_t wp_shards_open(const struct wp_shards *shards, uint32_t owner);
/* True when that remote address is one of a host whose shard is down. */
bool wp_shards_is_lost(const struct wp_shards *shards, const struct wp_socket_entry *entry);
/* True when anything of that host was ever connected with a host of another shard that is here. */
bool wp_shards_concern(const struct wp_shards *shards, uint32_t host);

/* Its number, made if new; UINT32_MAX: too many. */
uint32_t wp_shards_process_number(struct wp_shards *shards, const struct wp_shard_process *process);
/* What wp_shards_process_number() was given; false: there is no such number. The texts are borrowed from `shards`. */
bool wp_shards_process(const struct wp_shards *shards, uint32_t number, struct wp_shard_process *process);

#endif
