/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SHARD_SHARDS_H
#define WP_AGGREGATOR_SHARD_SHARDS_H
/*
 * The other aggregators (shards) of a fleet: which connections end at hosts of theirs, how their clocks stand to ours,
 * and what their hosts did while ours waited for them. Their hosts are in our fleet with an empty timeline, so that
 * matching, clocks and pacing hold for them as for our own; what a thread there did is asked of its shard.
 * docs/shards.md has the talk. Knows no sockets: it is told what came and says what is to go. Not thread safe.
 */
#include "aggregator/peer/shard_types.h"

/* Options are copied; fleet and context are borrowed, and fleet->shards is set. -E2BIG: more than WP_SHARD_LINKS links;
 * -EIO: no random bytes; -ENOMEM. err says why, *shards is left alone. */
int wp_shards_create(struct wp_shards **shards, const struct wp_shards_options *options, struct wp_error *err);
/* Foreign hosts leave the fleet, fleet->shards is NULL then; before the fleet goes. NULL is allowed. */
void wp_shards_destroy(struct wp_shards *shards);
/* The time (the fleet's now_ns) has gone on: tells facts, asks, answers what can be answered, gives up. A few times a
 * second at least; each answer waits for one. */
void wp_shards_step(struct wp_shards *shards);
/* What one that connected to us says. -EINVAL: it is bad, `err` says why. */
int wp_shards_called(struct wp_shards *shards, const struct wp_server_caller *caller, enum wp_frame_type type,
    const uint8_t *bytes, size_t size, struct wp_error *err);
/* What came over a link of ours. */
int wp_shards_answered(struct wp_shards *shards, uint32_t link, enum wp_frame_type type, const uint8_t *bytes,
    size_t size, struct wp_error *err);

/* --- for the engine --- */

/* Recordings that are replayed go on in step with those of other shards: may a session of that age have its turn? */
bool wp_shards_may_go(const struct wp_shards *shards, uint64_t age_ns, uint64_t epoch_ns);

/* No host of ours or of theirs is left that somebody could ask for, as far as was told. */
bool wp_shards_are_done(const struct wp_shards *shards);

/* --- for those who watch --- */

/* Since they were created; borrowed, and changed by what comes next. */
const struct wp_shard_counts *wp_shards_counts(const struct wp_shards *shards);

/* Of one other shard; `name` is borrowed. */
struct wp_shard_state {
    const char *name;
    bool is_up;
    uint32_t hosts, open; /* its hosts here; questions out */
    uint64_t bound_ns;    /* of its clock to ours; UINT64_MAX unknown */
};
/* Shards that are known, up or not; they keep their index. */
uint32_t wp_shards_count(const struct wp_shards *shards);
/* `index` is below wp_shards_count(). Fills all of *state. */
void wp_shards_state(const struct wp_shards *shards, uint32_t index, struct wp_shard_state *state);

#endif
