/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_PEER_SHARD_STATE_H
#define WP_AGGREGATOR_PEER_SHARD_STATE_H
/* What shards.c (who is there), shard_ends.c (facts told), shard_stubs.c (facts heard), shard_questions.c (what we ask) and shard_answers.c (what we are asked)
 * share. Private to them. */
#include "aggregator/shard/shards.h"
#include "common/intern.h"
#include "proto/shard_wire.h"

#define WP_SHARDS 32u
#define WP_NO_SHARD UINT32_MAX

/* A host of another shard: its seat in the fleet. */
struct wp_stub {
    uint32_t shard, place, host; /* place: its number there; host: here */
    uint8_t session[16];
    char hostname[257];
    uint64_t start_ns;           /* of its recording */
    uint32_t ends;
    struct wp_timeline timeline; /* empty, but for how far it is */
};

struct wp_shard {
    char name[129];
    uint8_t run[16];
    struct wp_server_caller caller;
    uint32_t clock;              /* its aggregator's, in the fleet's clocks */
    uint64_t heard_ns;
    bool has_caller, has_clock, is_up;
    uint32_t open;               /* questions out */
    uint64_t answered_ns;        /* when it last answered one, or was first asked after that */
    uint32_t hosts;
};

struct wp_shard_link_state {
    uint32_t shard;              /* who is there, WP_NO_SHARD unknown */
    uint64_t hello_ns, probe_ns, heard_ns;
    uint32_t probes;
    bool is_welcome, needs_all;  /* needs_all: what was told before is not there */
};

struct wp_shards {
    struct wp_shards_options options;
    struct wp_fleet *fleet;      /* borrowed */
    uint8_t run[16];
    struct wp_shard shards[WP_SHARDS];
    uint32_t count;
    struct wp_shard_link_state links[WP_SHARD_LINKS];
    struct wp_stub **stubs;      /* owned, each */
    uint32_t stub_count, stub_room;
    struct wp_intmap places;     /* shard and place -> index of its stub */
    struct wp_intmap addresses;  /* of their hosts -> shard */
    struct wp_shard_ends *ends;          /* owned */
    struct wp_shard_questions *questions; /* owned */
    struct wp_shard_answers *answers;    /* owned */
    struct wp_intern *strings;   /* of processes */
    struct wp_shard_row { uint32_t host, comm, pid; uint64_t start_ns; } *processes; /* owned */
    uint32_t process_count, process_room;
    struct wp_intmap process_index;
    struct wp_buffer raw;
    struct wp_shard_counts counts;
    struct wp_log_limit bad;
};

/* --- who --- */
bool wp_shards_has_link(const struct wp_shards *shards, uint32_t shard); /* welcome or not */
uint32_t wp_shards_link_to(const struct wp_shards *shards, uint32_t shard); /* UINT32_MAX: none that is welcome */
struct wp_stub *wp_shards_stub(const struct wp_shards *shards, uint32_t host); /* of a foreign host */
const uint8_t *wp_shards_own_session(const struct wp_shards *shards, uint32_t host); /* 16 bytes */
int wp_shards_tell(struct wp_shards *shards, uint32_t link, enum wp_frame_type type, const ProtobufCMessage *message);
void wp_shards_remove_stub(struct wp_shards *shards, uint32_t index);

/* --- facts --- */
int wp_shard_ends_create(struct wp_shard_ends **ends, struct wp_shards *shards);
void wp_shard_ends_destroy(struct wp_shard_ends *ends);
void wp_shard_ends_flush(struct wp_shards *shards);
void wp_shard_stubs_take(struct wp_shards *shards, uint32_t shard, const Wakepath__Shard__Facts *facts);
bool wp_shard_ends_has_hosts(const struct wp_shards *shards); /* that others were told of */

/* --- questions --- */
int wp_shard_questions_create(struct wp_shard_questions **questions);
void wp_shard_questions_destroy(struct wp_shard_questions *questions);
void wp_shard_questions_step(struct wp_shards *shards);
/* What was said is lost: what is out is asked again. */
void wp_shard_questions_again(struct wp_shards *shards, uint32_t shard);
void wp_shard_questions_take(struct wp_shards *shards, uint32_t shard, Wakepath__Shard__Answers *answers); /* takes what it needs out of it */

/* --- answers --- */
int wp_shard_answers_create(struct wp_shard_answers **answers, struct wp_fleet *fleet);
void wp_shard_answers_destroy(struct wp_shard_answers *answers);
void wp_shard_answers_take(struct wp_shards *shards, const struct wp_server_caller *caller, const Wakepath__Shard__Questions *questions);
void wp_shard_answers_step(struct wp_shards *shards);
/* One question more (or less) of this owner is open. */
void wp_shard_answers_open(struct wp_shards *shards, uint32_t owner, int change);
uint32_t wp_shard_answers_opened(const struct wp_shards *shards, uint32_t owner);

#endif
