/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/message_ring.h"

#include "common/array.h"

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

/* Narrows [*low, *high), which holds the first later one or ends with it, around the place found last. */
static void narrow(const void *entries, const struct wp_message_ring *ring, size_t size, uint64_t time_ns,
    uint64_t *low, uint64_t *high)
{
    uint64_t hint = ring->found, step = 1;
    if (hint < *low || hint >= *high)
        return;
    if (time_at(entries, ring, (uint32_t)hint, size) <= time_ns) {
        *low = hint + 1;
        for (; *high - *low >= step && time_at(entries, ring, (uint32_t)(*low + step - 1), size) <= time_ns; step *= 4)
            *low += step;
        if (*high - *low >= step)
            *high = *low + step - 1;
    } else {
        *high = hint;
        for (; *high - *low >= step && time_at(entries, ring, (uint32_t)(*high - step), size) > time_ns; step *= 4)
            *high -= step;
        if (*high - *low >= step)
            *low = *high - step + 1;
    }
}

uint32_t wp_message_ring_after(const void *entries, const struct wp_message_ring *ring, size_t size, uint64_t time_ns)
{
    uint64_t low = ring->first, high = ring->end;
    narrow(entries, ring, size, time_ns, &low, &high);
    low = WP_LOWER_BOUND(middle, low, high, time_at(entries, ring, (uint32_t)middle, size) <= time_ns);
    if (low > ring->first)
        ((struct wp_message_ring *)(uintptr_t)ring)->found = (uint32_t)low - 1; /* no part of what is remembered */
    return (uint32_t)low;
}
