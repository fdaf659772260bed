/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_INTMAP_H
#define WP_COMMON_INTMAP_H
/*
 * A hash map from a 128-bit integer key to a 32-bit value, open addressing, for the hot integer tables (stack sites,
 * tree children, sockets, requests). Embedded: init with {0}. Deletion is by backward shift, no tombstones.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A key: two numbers, or several packed into them. */
struct wp_intkey {
    uint64_t a, b;
};

/* One slot of the table. */
struct wp_intslot {
    struct wp_intkey key;
    uint32_t value;
    uint32_t used;
};

/* The table: `mask` + 1 slots, a power of two, or none yet. */
struct wp_intmap {
    struct wp_intslot *slots; /* owned */
    uint32_t mask, count;
};

/* Frees the slots and leaves an empty map that can be used again; a zeroed one is allowed. */
void wp_intmap_fini(struct wp_intmap *map);
/* Removes all keys and keeps the memory; costs as much as the map has slots. */
void wp_intmap_clear(struct wp_intmap *map);
/* Sets or replaces. -ENOMEM. */
int wp_intmap_put(struct wp_intmap *map, struct wp_intkey key, uint32_t value);
/* True when the key was there. */
bool wp_intmap_remove(struct wp_intmap *map, struct wp_intkey key);

/* What it takes of memory. */
static inline size_t wp_intmap_bytes(const struct wp_intmap *map)
{
    return map->slots ? ((size_t)map->mask + 1) * sizeof(*map->slots) : 0;
}

/* --- inline: an explanation looks up several keys a piece --- */

/* The slot at which the search for the key starts. */
static inline uint32_t wp_intmap_home(const struct wp_intmap *map, struct wp_intkey key)
{
    uint64_t h = (key.a ^ (key.b * 0x9e3779b97f4a7c15u)) * 0xbf58476d1ce4e5b9u;
    h ^= h >> 31;
    h *= 0x94d049bb133111ebu;
    return (uint32_t)(h >> 32) & map->mask;
}

/* Where the key is, or would be; the map has slots. */
static inline uint32_t wp_intmap_place(const struct wp_intmap *map, struct wp_intkey key)
{
    uint32_t at = wp_intmap_home(map, key);
    while (map->slots[at].used && (map->slots[at].key.a != key.a || map->slots[at].key.b != key.b))
        at = (at + 1) & map->mask;
    return at;
}

/* True and *value when the key is there. */
static inline bool wp_intmap_get(const struct wp_intmap *map, struct wp_intkey key, uint32_t *value)
{
    if (!map->slots)
        return false;
    const struct wp_intslot *slot = &map->slots[wp_intmap_place(map, key)];
    if (slot->used && value)
        *value = slot->value;
    return slot->used;
}

#endif
