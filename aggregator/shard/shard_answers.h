/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SHARD_SHARD_ANSWERS_H
#define WP_AGGREGATOR_SHARD_SHARD_ANSWERS_H
/* What other shards ask us. */
#include "aggregator/peer/shard_state.h"

int wp_shard_answers_create(struct wp_shard_answers **answers, struct wp_fleet *fleet);
void wp_shard_answers_destroy(struct wp_shard_answers *answers);
void wp_shard_answers_take(
    struct wp_shards *shards, const struct wp_server_caller *caller, const Wakepath__Shard__Questions *questions);
void wp_shard_answers_step(struct wp_shards *shards);

#endif
