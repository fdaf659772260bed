/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SHARD_SHARD_ANSWER_H
#define WP_AGGREGATOR_SHARD_SHARD_ANSWER_H
/* One explanation as a message to another shard: the sink that gathers it. Private to the shards. */
#include "aggregator/explain/explain.h"
#include "proto/shard_wire.h"

struct wp_shard_answer;

/* `tree` is the explainer's, borrowed. NULL: out of memory. */
struct wp_shard_answer *wp_shard_answer_create(const struct wp_pathtree *tree);
/* Drops what was gathered, and invalidates its sink and paths; NULL is allowed. */
void wp_shard_answer_destroy(struct wp_shard_answer *answer);
/* Gathers pieces, paths, messages and bounds that bit; asks no other shard. */
struct wp_sink wp_shard_answer_sink(struct wp_shard_answer *answer);
/* An empty one, of hosts of that fleet (borrowed); `depth` layers are the asker's own. */
void wp_shard_answer_begin(struct wp_shard_answer *answer, const struct wp_fleet *fleet, uint32_t depth);
/* The message, the caller's (_free_unpacked); NULL: out of memory. */
Wakepath__Shard__Answer *wp_shard_answer_end(struct wp_shard_answer *answer, const Wakepath__Shard__Question *question);
/* Paths that its waits were on. */
const struct wp_interval *wp_shard_answer_paths(const struct wp_shard_answer *answer, uint32_t *count);

#endif
