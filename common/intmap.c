/* SPDX-License-Identifier: Apache-2.0 */
#include "common/intmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct wp_intslot {
    struct wp_intkey key;
    uint32_t value;
    uint32_t used;
};

static uint32_t home(const struct wp_intmap *map, struct wp_intkey key)
{
    uint64_t h = (key.a ^ (key.b * 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 31;
    h *= 0x94d049bb133111ebu;
    return (uint32_t)(h >> 32) & map->mask;
}

void wp_intmap_fini(struct wp_intmap *map)
{
    free(map->slots);
    *map = (struct wp_intmap){0};
}

void wp_intmap_clear(struct wp_intmap *map)
{
    if (map->slots)
        memset(map->slots, 0, ((size_t)map->mask + 1) * sizeof(*map->slots));
    map->count = 0;
}

static uint32_t find(const struct wp_intmap *map, struct wp_intkey key)
{
    uint32_t at = home(map, key);
    while (map->slots[at].used && (map->slots[at].key.a != key.a || map->slots[at].key.b != key.b))
        at = (at + 1) & map->mask;
    return at;
}

bool wp_intmap_get(const struct wp_intmap *map, struct wp_intkey key, uint32_t *value)
{
    if (!map->slots)
        return false;
    const struct wp_intslot *slot = &map->slots[find(map, key)];
    if (slot->used && value)
        *value = slot->value;
    return slot->used;
}

static int grow(struct wp_intmap *map)
{
    struct wp_intmap bigger = {.mask = map->slots ? map->mask * 2 + 1 : 63};
    bigger.slots = calloc((size_t)bigger.mask + 1, sizeof(*bigger.slots));
    if (!bigger.slots)
        return -ENOMEM;
    for (uint32_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].used)
            bigger.slots[find(&bigger, map->slots[i].key)] = map->slots[i];
    bigger.count = map->count;
    free(map->slots);
    *map = bigger;
    return 0;
}

int wp_intmap_put(struct wp_intmap *map, struct wp_intkey key, uint32_t value)
{
    if ((!map->slots || (map->count + 1) * 3 > (map->mask + 1) * 2) && grow(map))
        return -ENOMEM;
    struct wp_intslot *slot = &map->slots[find(map, key)];
    if (!slot->used)
        map->count++;
    *slot = (struct wp_intslot){key, value, 1};
    return 0;
}

bool wp_intmap_remove(struct wp_intmap *map, struct wp_intkey key)
{
    if (!map->slots)
        return false;
    uint32_t hole = find(map, key);
    if (!map->slots[hole].used)
        return false;
    map->count--;
    for (uint32_t at = (hole + 1) & map->mask; map->slots[at].used; at = (at + 1) & map->mask) {
        uint32_t wanted = home(map, map->slots[at].key);
        if (((at - wanted) & map->mask) >= ((at - hole) & map->mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole].used = 0;
    return true;
}
