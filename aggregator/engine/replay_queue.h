/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ENGINE_REPLAY_QUEUE_H
#define WP_AGGREGATOR_ENGINE_REPLAY_QUEUE_H
/*
 * Recordings of several hosts that are replayed come as fast as each can send, so that one may be told whole before
 * another begins; what is compared across hosts (clocks, connections) remembers no more than the recent past. So their
 * batches wait here, and the session that has come least far has its turn. Collectors that are live need none of this.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WP_REPLAY_QUEUE_LIMIT 1024u /* batches of one session; more than its credit */

/* Raw protobuf bytes of one batch; one allocation. */
struct wp_replay_batch {
    struct wp_replay_batch *next;
    size_t size;
    uint8_t bytes[];
};

/* What waits of one session, first come first served; begins as {0}. */
struct wp_replay_queue {
    struct wp_replay_batch *first, *last; /* owned */
    uint32_t count;
    size_t bytes;      /* of them */
    bool is_leaving;   /* behind its last batch it has said Bye ... */
    uint64_t last_seq; /* ... and that this is its last one */
};

/* A copy of it. -ENOMEM; -ENOBUFS: there are too many. */
int wp_replay_queue_put(struct wp_replay_queue *queue, const uint8_t *bytes, size_t size);
/* The first one, which is the caller's to free; NULL: there is none. */
struct wp_replay_batch *wp_replay_queue_take(struct wp_replay_queue *queue);
/* Frees all batches and forgets a Bye behind them; the queue may be used again. Zeroed is allowed. */
void wp_replay_queue_clear(struct wp_replay_queue *queue);

#endif
