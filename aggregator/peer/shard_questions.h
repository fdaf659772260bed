/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_PEER_SHARD_QUESTIONS_H
#define WP_AGGREGATOR_PEER_SHARD_QUESTIONS_H
/* What we ask other shards: one question a wait, for all that look at it. */
#include "aggregator/peer/shard_state.h"

/* For wp_shards_create(). -ENOMEM. */
int wp_shard_questions_create(struct wp_shard_questions **questions);
/* Frees questions and answers without a word to the explanations that wait; NULL is allowed. */
void wp_shard_questions_destroy(struct wp_shard_questions *questions);
/* Sends what waits to shards that can be reached, gives up what a shard that is down or silent for give_up_ns owes, and
 * frees answers that nobody used lately. */
void wp_shard_questions_step(struct wp_shards *shards);
/* What was said is lost: what is out is asked again. */
void wp_shard_questions_again(struct wp_shards *shards, uint32_t shard);
/* Answers from that shard, each checked before (shard_wire.h). Those to open questions are taken out and NULL in their
 * place; others are left to the caller, who frees the message. */
void wp_shard_questions_take(
    struct wp_shards *shards, uint32_t shard, Wakepath__Shard__Answers *answers); /* takes what it needs out of it */

/* What is known of it, and when `may_ask`, asks if nothing is. False: nothing (yet). */
bool wp_shards_look(
    struct wp_shards *shards, const struct wp_shard_wait *wait, bool may_ask, struct wp_shard_reply *reply);

#endif
