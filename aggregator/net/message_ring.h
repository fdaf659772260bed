/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_MESSAGE_RING_H
#define WP_AGGREGATOR_NET_MESSAGE_RING_H
/* What of a socket or thread is remembered for the last seconds, in the order of time, with the last one before them:
 * what a long wait began with stands as long as it may be asked for. Embedded; the entries are the owner's. */
#include "common/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A sleep is explained some epochs after it ended, and asks then for what was sent before it began. */
#define WP_MESSAGE_HISTORY_NS (12 * WP_NS_PER_S)
/* What arrives within the history was sent no longer before it by a socket that was over by then. */
#define WP_MESSAGE_LATER_NS WP_NS_PER_S

struct wp_message_ring { /* entries [first, end) at i & mask; grown while what it holds is younger than the history */
    uint32_t first, end; /* begin again before they could wrap: valid until room is made */
    uint32_t mask;
    uint32_t found; /* what was looked up last: the next one is near it */
};

/* Makes room for one entry more; each begins with its time. False: out of memory, nothing may be added. */
bool wp_message_ring_room(void **entries, struct wp_message_ring *ring, size_t size, uint64_t now_ns);
/* The first of them later than that; ring->end when there is none. */
uint32_t wp_message_ring_after(const void *entries, const struct wp_message_ring *ring, size_t size, uint64_t time_ns);

#endif
