/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ENGINE_HELD_H
#define WP_AGGREGATOR_ENGINE_HELD_H
/*
 * What sessions hold of memory, and the bounds on it: one for the sessions of a host, one for all. A listed key may
 * fill its own host's share and no more: when a host is beyond its share, the largest of its sessions is shed; when all
 * are beyond theirs, the largest session of the host that holds most. Counted is what grows with what a peer says:
 * dictionary, timeline, messages, names and pseudo-stacks, reports not yet written, what waits for its turn or for a
 * checkpoint.
 */
#include "aggregator/engine/peer_slots.h"

/* The bounds, and what was found at the last look. */
struct wp_held {
    uint64_t host_limit, limit; /* bytes; 0: none */
    uint64_t bytes;             /* of all sessions, at the last look */
    uint64_t taken, looked_ns;  /* bytes of batches since then */
    uint64_t shed;              /* sessions */
};

/* A batch of so many bytes was taken in: true when it is time for a look. */
bool wp_held_is_due(struct wp_held *held, size_t bytes, uint64_t now_ns);
/* Adds up what each slot holds. */
void wp_held_look(struct wp_held *held, struct wp_peer_slots *slots, uint64_t now_ns);
/* The slot whose session must go; NULL: none. Sessions that are closing are going anyway. *limit: which bound it is. */
struct wp_peer_slot *wp_held_excess(const struct wp_held *held, const struct wp_peer_slots *slots, uint64_t *limit);
/* Marks the session as ended for what it holds: its reports have the limit, queued batches are dropped. */
void wp_held_shed(struct wp_held *held, struct wp_peer_slot *slot);
/* 0, or -EAGAIN: what that host holds until it is written leaves no room for one session more. */
int wp_held_admit(
    const struct wp_held *held, const struct wp_peer_slots *slots, const uint8_t host[16], struct wp_error *err);

#endif
