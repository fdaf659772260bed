/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/message_ring.h"

#include <stdlib.h>
#include <string.h>

#define RING_LIMIT (1u << 20) /* entries of one ring */
#define ORDINALS (1u << 31)

static uint64_t time_at(const void *entries, const struct wp_message_ring *ring, uint32_t i, size_t size)
{
    uint64_t time_ns;
    memcpy(&time_ns, (const char *)entries + (i & ring->mask) * size, sizeof(time_ns));
    return time_ns;
}

bool wp_message_ring_room(void **entries, struct wp_message_ring *ring, size_t size, uint64_t now_ns)
{
    uint64_t horizon = now_ns > WP_MESSAGE_HISTORY_NS ? now_ns - WP_MESSAGE_HISTORY_NS : 0;
    if (ring->end >= ORDINALS) {
        uint32_t rounds = ring->first & ~ring->mask;
        ring->first -= rounds;
        ring->end -= rounds;
    }
    if (*entries && ring->end - ring->first <= ring->mask)
        return true;
    while (ring->end - ring->first > 1 && time_at(*entries, ring, ring->first + 1, size) < horizon)
        ring->first++;
    uint64_t count = ring->end - ring->first;
    if (*entries && count <= (ring->mask + (uint64_t)1) / 2)
        return true;
    uint32_t wanted = *entries ? (ring->mask + 1) * 2 : 1; /* most connections have one request and one reply */
    char *bigger = wanted <= RING_LIMIT ? malloc(wanted * size) : NULL;
    if (!bigger) { /* keep going with what there is */
        ring->first += ring->first < ring->end;
        return *entries;
    }
    for (uint64_t i = ring->first; i < ring->end; i++)
        memcpy(bigger + (i & (wanted - 1)) * size, (const char *)*entries + (i & ring->mask) * size, size);
    free(*entries);
    *entries = bigger;
    ring->mask = wanted - 1;
    return true;
}
