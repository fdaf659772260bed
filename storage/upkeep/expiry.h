/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_STORAGE_UPKEEP_EXPIRY_H
#define WP_STORAGE_UPKEEP_EXPIRY_H
/* State that nobody needs any more: sessions that are over, processes, blobs without a reference. */
#include "storage/upkeep/retention_rule.h"

/* State of sessions that are over, of processes that no kept report or living descendant needs ... */
int wp_txn_expire_state(struct wp_txn *txn, const struct wp_retention *rule, struct wp_error *err);
/* The state of one session, in all shards; what it recorded stays in the sums. Nothing of it there: 0. */
int wp_txn_drop_session(
    struct wp_txn *txn, const struct wp_retention *rule, const uint8_t session[16], struct wp_error *err);
/* ... and blobs without a reference. */
int wp_txn_drop_blobs(struct wp_txn *txn, const struct wp_retention *rule, struct wp_error *err);

#endif
