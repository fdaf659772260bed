/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/datagrams.h"

#define REMEMBERED 262144u

void wp_datagrams_fini(struct wp_datagrams *datagrams)
{
    for (int i = 0; i < 2; i++) {
        wp_intmap_fini(&datagrams->sent[i]);
        wp_intmap_fini(&datagrams->taken[i]);
    }
}

static void put(struct wp_intmap maps[2], uint64_t key, uint32_t host)
{
    if (maps[0].count >= REMEMBERED) {
        struct wp_intmap old = maps[1];
        maps[1] = maps[0];
        maps[0] = old;
        wp_intmap_clear(&maps[0]);
    }
    wp_intmap_put(&maps[0], (struct wp_intkey){key, 0}, host);
}

static uint32_t get(const struct wp_intmap maps[2], uint64_t key)
{
    uint32_t host;
    for (int i = 0; i < 2; i++)
        if (wp_intmap_get(&maps[i], (struct wp_intkey){key, 0}, &host))
            return host;
    return WP_DATAGRAM_NOBODY;
}

uint32_t wp_datagrams_sent(struct wp_datagrams *datagrams, uint64_t key, uint32_t host)
{
    put(datagrams->sent, key, host);
    return get(datagrams->taken, key);
}

uint32_t wp_datagrams_taken(struct wp_datagrams *datagrams, uint64_t key, uint32_t host)
{
    put(datagrams->taken, key, host);
    return get(datagrams->sent, key);
}

uint32_t wp_datagrams_sender(const struct wp_datagrams *datagrams, uint64_t key)
{
    return get(datagrams->sent, key);
}

/* The key stays, and stands for nobody: taking keys out of a map moves others behind the place that is looked at. */
static void forget(struct wp_intmap *map, uint32_t host)
{
    for (uint32_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].used && map->slots[i].value == host)
            map->slots[i].value = WP_DATAGRAM_NOBODY;
}

void wp_datagrams_forget(struct wp_datagrams *datagrams, uint32_t host)
{
    for (int i = 0; i < 2; i++) {
        forget(&datagrams->sent[i], host);
        forget(&datagrams->taken[i], host);
    }
}
