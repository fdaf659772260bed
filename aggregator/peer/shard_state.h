/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_PEER_SHARD_STATE_H
#define WP_AGGREGATOR_PEER_SHARD_STATE_H
/* What shards.c (who is there), shard_ends.c (facts told), shard_stubs.c (facts heard), shard_questions.c (what we ask)
 * and shard_answers.c (what we are asked) share. Private to them. */
#include "aggregator/peer/shard_types.h"
#include "common/intern.h"
#include "common/path.h"
#include "proto/shard_wire.h"

#define WP_SHARDS 32u
#define WP_NO_SHARD UINT32_MAX

/* A host of another shard: its slot in the fleet. */
struct wp_stub {
    uint32_t shard, place, host; /* place: its number there; host: here */
    uint8_t session[16];
    char hostname[257];
    uint64_t start_ns; /* of its recording */
    uint32_t ends;
    struct wp_timeline timeline; /* empty, but for how far it is */
};

struct wp_shard {
    char name[WP_ID_ROOM];
    uint8_t run[16];
    struct wp_server_caller caller;
    uint32_t clock; /* its aggregator's, in the fleet's clocks */
    uint64_t heard_ns;
    bool has_caller, has_clock, is_up;
    uint32_t open;        /* questions out */
    uint64_t answered_ns; /* when it last answered one, or was first asked after that */
    uint32_t hosts;
};

struct wp_shard_link_state {
    uint32_t shard; /* who is there, WP_NO_SHARD unknown */
    uint64_t hello_ns, probe_ns, heard_ns;
    uint32_t probes;
    bool is_welcome, needs_all; /* needs_all: what was told before is not there */
};

struct wp_shards {
    struct wp_shards_options options;
    struct wp_fleet *fleet; /* borrowed */
    uint8_t run[16];
    struct wp_shard shards[WP_SHARDS];
    uint32_t count;
    struct wp_shard_link_state links[WP_SHARD_LINKS];
    struct wp_stub **stubs; /* owned, each */
    uint32_t stub_count, stub_room;
    struct wp_intmap places;              /* shard and place -> index of its stub */
    struct wp_intmap addresses;           /* of their hosts -> shard */
    struct wp_shard_ends *ends;           /* owned */
    struct wp_shard_questions *questions; /* owned */
    struct wp_shard_answers *answers;     /* owned */
    uint32_t *asked_open; /* by question of others that is being answered: questions of ours that it waits for; owned */
    struct wp_intern *strings; /* of processes */
    struct wp_shard_row {
        uint32_t host, comm, pid;
        uint64_t start_ns;
    } * processes; /* owned */
    uint32_t process_count, process_room;
    struct wp_intmap process_index;
    struct wp_buffer raw;
    struct wp_shard_counts counts;
    struct wp_log_limit bad;
};

#endif
