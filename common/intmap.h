/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_INTMAP_H
#define WP_COMMON_INTMAP_H
/*
 * A hash map from a 128-bit integer key to a 32-bit value, open addressing, for the hot integer tables (stack sites,
 * tree children, sockets, requests). Embedded: init with {0}. Deletion is by backward shift, no tombstones.
 */
#include <stdbool.h>
#include <stdint.h>

struct wp_intkey {
    uint64_t a, b;
};

struct wp_intmap {
    struct wp_intslot *slots; /* owned */
    uint32_t mask, count;
};

void wp_intmap_fini(struct wp_intmap *map);
void wp_intmap_clear(struct wp_intmap *map);
/* True and *value when the key is there. */
bool wp_intmap_get(const struct wp_intmap *map, struct wp_intkey key, uint32_t *value);
/* Sets or replaces. -ENOMEM. */
int wp_intmap_put(struct wp_intmap *map, struct wp_intkey key, uint32_t value);
/* True when the key was there. */
bool wp_intmap_remove(struct wp_intmap *map, struct wp_intkey key);

#endif
