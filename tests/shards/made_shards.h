/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_MADE_SHARDS_H
#define WP_TESTS_MADE_SHARDS_H
/* Two shards in one program: what one says the other hears when it is delivered, or it is lost. */
#include "aggregator/session/host_session.h"
#include "aggregator/shard/shards.h"

#define MADE_SHARDS 2u
#define MADE_CLOCK_NS 3600000000000u /* the second one's clock is so far ahead */

struct made_message {
    struct made_message *next;
    uint32_t to;    /* shard */
    bool is_answer; /* comes over its link; else it is called */
    enum wp_frame_type type;
    size_t size;
    uint8_t bytes[];
};

struct made_shard {
    struct made_shards *all;
    uint32_t number;
    struct wp_fleet *fleet;
    struct wp_shards *shards;
};

struct made_shards {
    struct made_shard shards[MADE_SHARDS];
    struct made_message *first, *last;
    uint64_t now_ns;   /* by the first one's clock */
    bool is_cut;       /* nothing arrives */
    bool is_stuck;     /* who asked reads no answers for now */
    uint32_t held_up;  /* answers that could not go for that */
    uint32_t renewals; /* how often a link was connected anew */
    uint64_t delivered[WP_FRAME_TYPES];
};

/* Fleets of their own, hosts of which are made by the caller. */
void made_shards_init(struct made_shards *all);
/* Before the sessions' end. */
void made_shards_part(struct made_shards *all);
void made_shards_fini(struct made_shards *all);
/* One of them is started again: it has forgotten all of the other. */
void made_shards_restart(struct made_shards *all, uint32_t shard);
/* The time goes on; each has a step, and all that was said arrives, and so on for as long as something is said. */
void made_shards_go_on(struct made_shards *all, uint64_t ns);
/* Each asks the other for its time, just now. */
void made_shards_probe(struct made_shards *all);
/* One message to a shard, whoever made it. */
int made_shards_call(struct made_shards *all, uint32_t shard, enum wp_frame_type type, const void *bytes, size_t size,
    struct wp_error *err);

#endif
