/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SHARD_SHARD_ANSWER_H
#define WP_AGGREGATOR_SHARD_SHARD_ANSWER_H
/* One explanation as a message to another shard: gathers what an explainer says. Private to the shards. */
#include "aggregator/explain/explain.h"
#include "proto/shard_wire.h"

struct wp_shard_answer;

/* `tree` is the explainer's, borrowed. NULL: out of memory. */
struct wp_shard_answer *wp_shard_answer_create(const struct wp_pathtree *tree);
void wp_shard_answer_destroy(struct wp_shard_answer *answer);
/* That explainer's pieces, paths and messages are gathered from now on. */
void wp_shard_answer_listen(struct wp_shard_answer *answer, struct wp_explainer *explainer);
/* An empty one; `depth` layers are the asker's own. */
void wp_shard_answer_begin(struct wp_shard_answer *answer, uint32_t depth);
/* The message, the caller's (_free_unpacked); NULL: out of memory. */
Wakepath__Shard__Answer *wp_shard_answer_end(
    struct wp_shard_answer *answer, const Wakepath__Shard__Question *question, const struct wp_explainer *explainer);
/* Paths that its waits were on. */
const struct wp_stretch *wp_shard_answer_paths(const struct wp_shard_answer *answer, uint32_t *count);

#endif
