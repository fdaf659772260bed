/* SPDX-License-Identifier: Apache-2.0 */
#include "common/intmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

static int grow(struct wp_intmap *map)
{
    struct wp_intmap bigger = {.mask = map->slots ? map->mask * 2 + 1 : 63};
    size_t bytes = ((size_t)bigger.mask + 1) * sizeof(*bigger.slots);
    bigger.slots = malloc(bytes);
    if (!bigger.slots)
        return -ENOMEM;
    memset(bigger.slots, 0, bytes); /* as they are read first, calloc's pages would come twice */
    for (uint32_t i = 0; map->slots && i <= map->mask; i++)
        if (map->slots[i].used)
            bigger.slots[wp_intmap_place(&bigger, map->slots[i].key)] = map->slots[i];
    bigger.count = map->count;
    free(map->slots);
    *map = bigger;
    return 0;
}

int wp_intmap_put(struct wp_intmap *map, struct wp_intkey key, uint32_t value)
{
    if ((!map->slots || (map->count + 1) * 3 > (map->mask + 1) * 2) && grow(map))
        return -ENOMEM;
    struct wp_intslot *slot = &map->slots[wp_intmap_place(map, key)];
    if (!slot->used)
        map->count++;
    *slot = (struct wp_intslot){key, value, 1};
    return 0;
}

bool wp_intmap_remove(struct wp_intmap *map, struct wp_intkey key)
{
    if (!map->slots)
        return false;
    uint32_t hole = wp_intmap_place(map, key);
    if (!map->slots[hole].used)
        return false;
    map->count--;
    for (uint32_t at = (hole + 1) & map->mask; map->slots[at].used; at = (at + 1) & map->mask) {
        uint32_t wanted = wp_intmap_home(map, map->slots[at].key);
        if (((at - wanted) & map->mask) >= ((at - hole) & map->mask)) {
            map->slots[hole] = map->slots[at];
            hole = at;
        }
    }
    map->slots[hole].used = 0;
    return true;
}
