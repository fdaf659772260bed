/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/seats.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FINISHED 65536u      /* remembered ones; of those before them the store knows */

void wp_seats_fini(struct wp_seats *seats)
{
    free(seats->all);
    wp_intmap_fini(&seats->by_peer);
}

struct wp_seat *wp_seats_find(const struct wp_seats *seats, uint32_t peer)
{
    uint32_t index;
    return wp_intmap_get(&seats->by_peer, (struct wp_intkey){peer, 0}, &index) ? &seats->all[index] : NULL;
}

bool wp_seats_has_ended(const struct wp_seats *seats, const uint8_t id[16])
{
    for (uint32_t i = 0; i < seats->count; i++)
        if (seats->all[i].is_committed && !memcmp(seats->all[i].id, id, 16))
            return true;
    return false;
}

/* Forgets the older half of the finished sessions. */
static void forget_finished(struct wp_seats *seats)
{
    uint32_t kept = 0, drop = (seats->count - seats->live) / 2;
    wp_intmap_clear(&seats->by_peer);
    for (uint32_t i = 0; i < seats->count; i++) {
        if (!seats->all[i].session && drop) {
            drop--;
            continue;
        }
        seats->all[kept] = seats->all[i];
        wp_intmap_put(&seats->by_peer, (struct wp_intkey){seats->all[kept].peer, 0}, kept); /* smaller than before */
        kept++;
    }
    seats->count = kept;
}

struct wp_seat *wp_seats_add(struct wp_seats *seats, uint32_t peer, struct wp_error *err)
{
    if (seats->count - seats->live >= FINISHED)
        forget_finished(seats);
    if (seats->count == seats->room) {
        uint32_t room = seats->room ? seats->room * 2 : 8;
        struct wp_seat *all = realloc(seats->all, room * sizeof(*all));
        if (!all) {
            wp_error_set(err, -ENOMEM, "out of memory for a session");
            return NULL;
        }
        seats->all = all;
        seats->room = room;
    }
    if (wp_intmap_put(&seats->by_peer, (struct wp_intkey){peer, 0}, seats->count)) {
        wp_error_set(err, -ENOMEM, "out of memory for a session");
        return NULL;
    }
    struct wp_seat *seat = &seats->all[seats->count++];
    *seat = (struct wp_seat){.peer = peer};
    return seat;
}
