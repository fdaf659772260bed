/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SHARD_SHARD_ANSWERS_H
#define WP_AGGREGATOR_SHARD_SHARD_ANSWERS_H
/* What other shards ask us. */
#include "aggregator/peer/shard_state.h"

/* For wp_shards_create(); `fleet` is borrowed. -ENOMEM: *answers is left alone. */
int wp_shard_answers_create(struct wp_shard_answers **answers, struct wp_fleet *fleet);
/* Questions that are still open get no answer; NULL is allowed. */
void wp_shard_answers_destroy(struct wp_shard_answers *answers);
/* Questions from that caller, checked before (shard_wire.h). They are taken out of the message, to be answered by later
 * steps; those without room are refused at once. */
void wp_shard_answers_take(
    struct wp_shards *shards, const struct wp_server_caller *caller, const Wakepath__Shard__Questions *questions);
/* Answers what can be answered now, or is too late to wait for. What a caller does not read is kept for a while. */
void wp_shard_answers_step(struct wp_shards *shards);

#endif
