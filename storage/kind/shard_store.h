/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_KIND_SHARD_STORE_H
#define WP_STORAGE_KIND_SHARD_STORE_H
/* Shards by their origin: 16 random bytes that a shard gets when it is registered, and keeps wherever it is copied to.
 */
#include "storage/env/txn.h"

/* Puts the flag of a shard that comes from elsewhere; wp_txn_register_shard makes the rest. */
int wp_txn_put_shard(struct wp_txn *txn, const char *shard, const uint8_t origin[16], struct wp_error *err);
/* -ENOENT: no such shard; -ENODATA: one without an origin. */
int wp_txn_shard_origin(struct wp_txn *txn, const char *shard, uint8_t origin[16], struct wp_error *err);
/* -ENOENT (without an error text): none here has it. */
int wp_txn_shard_of_origin(struct wp_txn *txn, const uint8_t origin[16], char shard[WP_ID_ROOM], struct wp_error *err);
/* Of a flag's value. -ENOENT. */
int wp_shard_origin_of(const struct wp_value *value, uint8_t origin[16]);

/* "__state__/shard.<shard>" with a new origin, and empty state values that are not there yet, so that the layout is
 * whole. */
int wp_txn_register_shard(struct wp_txn *txn, const char *shard, struct wp_error *err);

#endif
