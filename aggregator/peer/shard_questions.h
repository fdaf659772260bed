/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_PEER_SHARD_QUESTIONS_H
#define WP_AGGREGATOR_PEER_SHARD_QUESTIONS_H
/* What we ask other shards: one question a wait, for all that look at it. */
#include "aggregator/peer/shard_state.h"

int wp_shard_questions_create(struct wp_shard_questions **questions);
void wp_shard_questions_destroy(struct wp_shard_questions *questions);
void wp_shard_questions_step(struct wp_shards *shards);
/* What was said is lost: what is out is asked again. */
void wp_shard_questions_again(struct wp_shards *shards, uint32_t shard);
void wp_shard_questions_take(
    struct wp_shards *shards, uint32_t shard, Wakepath__Shard__Answers *answers); /* takes what it needs out of it */

/* What is known of it, and when `may_ask`, asks if nothing is. False: nothing (yet). */
bool wp_shards_look(
    struct wp_shards *shards, const struct wp_shard_wait *wait, bool may_ask, struct wp_shard_reply *reply);

#endif
