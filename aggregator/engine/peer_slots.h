/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places of an engine's peers: who is at the other end of each connection, and what of its session is acknowledged.
 * A session that is finished keeps its place, so that a peer which asks again is told so; of those the older half is
 * forgotten when there are 65,536, for the store knows them.
 */
#ifndef WP_AGGREGATOR_ENGINE_PEER_SLOTS_H
#define WP_AGGREGATOR_ENGINE_PEER_SLOTS_H

#include "aggregator/engine/replay_queue.h"
#include "aggregator/session/host_session.h"
#include "common/error.h"
#include "common/intmap.h"

#include <stdbool.h>
#include <stdint.h>

/* A peer's place. Of a session that is finished only what tells it so again is kept. */
struct wp_peer_slot {
    struct wp_host_session *session; /* owned; NULL: finished, its last commit is done */
    uint32_t peer;
    uint8_t id[16];                /* of its session, finished or not */
    uint64_t last_seq;             /* of a finished session */
    uint64_t told_seq, told_taken; /* acknowledged to the peer: durable, taken in */
    uint64_t probed_ns;            /* when its clock was last asked */
    uint32_t probes;
    bool is_committed; /* all of it, and counted as ended; the session stays while other hosts' explanations need it */
    uint64_t heard;    /* the engine's count of messages at its last one */
    bool is_live;      /* its clock answers: it reports what happens now, not the past */
    uint64_t held_bytes;          /* of memory, at the last look (held.h) */
    bool is_shed;                 /* it held too much, and was ended: what its peer still sends is refused */
    struct wp_replay_queue queue; /* of one that is replayed together with others */
};

/* Zeroed: none. The first slot may have moved after wp_peer_slots_add(). */
struct wp_peer_slots {
    struct wp_peer_slot *all; /* in the order in which they came; owned, but their sessions are the engine's */
    uint32_t count, room;
    uint32_t live;            /* those with a session; kept by the engine */
    struct wp_intmap by_peer; /* peer -> index of its slot */
};

/* Frees the slots and nothing in them: the engine has destroyed sessions and cleared queues before. Zeroed is allowed;
 * the struct is not zeroed. */
void wp_peer_slots_fini(struct wp_peer_slots *slots);

/* NULL: that peer has none. Valid until the next wp_peer_slots_add(). */
struct wp_peer_slot *wp_peer_slots_find(const struct wp_peer_slots *slots, uint32_t peer);

/* Whether a session of that id has ended here, under whatever peer. */
bool wp_peer_slots_has_ended(const struct wp_peer_slots *slots, const uint8_t id[16]);

/* A new one for a peer that has none; NULL: out of memory, *err says so. */
struct wp_peer_slot *wp_peer_slots_add(struct wp_peer_slots *slots, uint32_t peer, struct wp_error *err);

/* How many live sessions a host has; *oldest is the one that was silent longest, NULL where there is none. */
uint32_t wp_peer_slots_of_host(
    const struct wp_peer_slots *slots, const uint8_t host[16], struct wp_host_session **oldest);

/* Whether the peer's clock is to be asked now; counts it as asked. */
bool wp_peer_slot_is_due(struct wp_peer_slot *slot, uint64_t now_ns);

/* Whether its session has something that is not in the store. */
bool wp_peer_slot_wants_commit(const struct wp_peer_slot *slot);

/* After a commit: notes a session that has ended; true, once: it is the last of its host's that go on in each other. */
bool wp_peer_slot_is_over(struct wp_peer_slot *slot);

/* More than told_seq and told_taken say is durable or taken in: they say so now, and the peer is to be told. */
bool wp_peer_slot_has_ack(struct wp_peer_slot *slot);

/* A live session whose peer has another number now (it was away for long): it sits there, and is *out. One id is one
 * session, whoever says it; what two say of it is distinguished by the batches' numbers. -EACCES: another host says it.
 */
int wp_peer_slots_move(struct wp_peer_slots *slots, uint32_t peer, const struct wp_hello *hello,
    struct wp_peer_slot **out, struct wp_error *err);

/*
 * Two hosts with one UUID (a cloned machine) would be taken for one: -EACCES. A collector that was started again on the
 * same boot is none; one whose machine was booted again comes when the old session has fallen silent.
 */
int wp_peer_slots_refuse_clone(const struct wp_peer_slots *slots, const struct wp_fleet *fleet,
    const struct wp_hello *hello, struct wp_error *err);

#endif
