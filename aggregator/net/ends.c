/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/ends.h"

#include "common/array.h"

#include <errno.h>
#include <stdlib.h>

void wp_ends_init(struct wp_ends *ends)
{
    *ends = (struct wp_ends){.count = 1, .place_count = 1};
}

void wp_ends_fini(struct wp_ends *ends)
{
    wp_intmap_fini(&ends->by_address);
    free(ends->by_sequence);
    free(ends->rows);
    free(ends->places);
    wp_ends_init(ends);
}

/* --- by sequence: nearly all ends are in this, so that its slots are no more than numbers --- */

static uint32_t home_of(const struct wp_ends *ends, uint64_t sequence)
{
    uint64_t h = (sequence ^ sequence >> 29) * 0xbf58476d1ce4e5b9u;
    return (uint32_t)((h ^ h >> 32) * 0x94d049bb133111ebu >> 32) & ends->sequence_mask;
}

/* Where that one is, or would be. */
static uint32_t slot_of(const struct wp_ends *ends, uint64_t sequence)
{
    uint32_t at = home_of(ends, sequence);
    while (ends->by_sequence[at] && ends->rows[ends->by_sequence[at]].sequence != sequence)
        at = (at + 1) & ends->sequence_mask;
    return at;
}

uint32_t wp_ends_by_sequence(const struct wp_ends *ends, uint64_t sequence)
{
    return ends->by_sequence ? ends->by_sequence[slot_of(ends, sequence)] : 0;
}

/* For one more. */
static int grow_sequences(struct wp_ends *ends)
{
    uint32_t *old = ends->by_sequence, room = old ? ends->sequence_mask + 1 : 0, wanted = room ? room * 2 : 64;
    if ((ends->sequence_count + 1) * (uint64_t)4 <= room * (uint64_t)3)
        return 0;
    uint32_t *slots = calloc(wanted, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    ends->by_sequence = slots;
    ends->sequence_mask = wanted - 1;
    for (uint32_t i = 0; i < room; i++)
        if (old[i])
            slots[slot_of(ends, ends->rows[old[i]].sequence)] = old[i];
    free(old);
    return 0;
}

static void empty_slot(struct wp_ends *ends, uint32_t hole)
{
    uint32_t mask = ends->sequence_mask, *slots = ends->by_sequence;
    for (uint32_t at = (hole + 1) & mask; slots[at]; at = (at + 1) & mask) {
        uint32_t wanted = home_of(ends, ends->rows[slots[at]].sequence);
        if (((at - wanted) & mask) >= ((at - hole) & mask)) {
            slots[hole] = slots[at];
            hole = at;
        }
    }
    slots[hole] = 0;
    ends->sequence_count--;
}

int wp_ends_number(struct wp_ends *ends, uint32_t index, uint64_t sequence)
{
    struct wp_end *end = &ends->rows[index];
    wp_ends_unnumber(ends, index);
    end->sequence = 0;
    if (grow_sequences(ends))
        return -ENOMEM;
    uint32_t at = slot_of(ends, sequence), next = ends->by_sequence[at];
    end->sequence = sequence;
    end->has_sequence = true;
    end->by_sequence = (struct wp_end_link){.next = next};
    if (next)
        ends->rows[next].by_sequence.before = index;
    ends->by_sequence[at] = index;
    ends->sequence_count += !next;
    return 0;
}

void wp_ends_unnumber(struct wp_ends *ends, uint32_t index)
{
    struct wp_end *end = &ends->rows[index];
    struct wp_end_link link = end->by_sequence;
    if (!end->has_sequence)
        return;
    end->has_sequence = false;
    if (link.next)
        ends->rows[link.next].by_sequence.before = link.before;
    if (link.before)
        ends->rows[link.before].by_sequence.next = link.next;
    else if (link.next)
        ends->by_sequence[slot_of(ends, end->sequence)] = link.next;
    else
        empty_slot(ends, slot_of(ends, end->sequence));
}

/* --- by address --- */

uint32_t wp_ends_by_address(const struct wp_ends *ends, struct wp_intkey address)
{
    uint32_t index;
    return wp_intmap_get(&ends->by_address, address, &index) ? index : 0;
}

/* Puts it in front of those with its address. -ENOMEM. */
static int chain(struct wp_ends *ends, uint32_t index)
{
    struct wp_end_place *place = wp_ends_place(ends, index);
    uint32_t next = wp_ends_by_address(ends, place->address);
    int rc = wp_intmap_put(&ends->by_address, place->address, index);
    if (rc)
        return rc;
    place->by_address = (struct wp_end_link){.next = next};
    if (next)
        wp_ends_place(ends, next)->by_address.before = index;
    return 0;
}

static void unchain(struct wp_ends *ends, uint32_t index)
{
    const struct wp_end_place *place = wp_ends_place(ends, index);
    struct wp_end_link link = place->by_address;
    if (link.next)
        wp_ends_place(ends, link.next)->by_address.before = link.before;
    if (link.before)
        wp_ends_place(ends, link.before)->by_address.next = link.next;
    else if (link.next)
        wp_intmap_put(&ends->by_address, place->address, link.next); /* replaces: no memory is wanted */
    else
        wp_intmap_remove(&ends->by_address, place->address);
}

/* --- life --- */

static uint32_t new_row(struct wp_ends *ends)
{
    uint32_t index = ends->free;
    if (index)
        ends->free = ends->rows[index].peer;
    else if (!WP_ARRAY_FIT(ends->rows, ends->room, ends->count + 1))
        index = ends->count++;
    return index;
}

static uint32_t new_place(struct wp_ends *ends)
{
    uint32_t place = ends->place_free;
    if (place)
        ends->place_free = ends->places[place].by_address.next;
    else if (!WP_ARRAY_FIT(ends->places, ends->place_room, ends->place_count + 1))
        place = ends->place_count++;
    return place;
}

static void free_place(struct wp_ends *ends, uint32_t index)
{
    uint32_t place = ends->rows[index].place;
    if (!place)
        return;
    ends->places[place] = (struct wp_end_place){.by_address.next = ends->place_free};
    ends->place_free = place;
    ends->rows[index].place = 0;
}

static void free_row(struct wp_ends *ends, uint32_t index, uint32_t nobody)
{
    ends->rows[index] = (struct wp_end){.host = nobody, .peer = ends->free};
    ends->free = index;
}

uint32_t wp_ends_add(struct wp_ends *ends, const struct wp_end *end, const struct wp_end_place *place)
{
    uint32_t index = new_row(ends);
    if (!index)
        return 0;
    ends->rows[index] = *end;
    ends->rows[index].place = new_place(ends);
    if (ends->rows[index].place)
        *wp_ends_place(ends, index) = *place;
    if (ends->rows[index].place && !chain(ends, index))
        return index;
    free_place(ends, index);
    free_row(ends, index, UINT32_MAX);
    return 0;
}

void wp_ends_remove(struct wp_ends *ends, uint32_t index, uint32_t nobody)
{
    wp_ends_unplace(ends, index);
    wp_ends_unnumber(ends, index);
    free_row(ends, index, nobody);
}

void wp_ends_unplace(struct wp_ends *ends, uint32_t index)
{
    if (ends->rows[index].place)
        unchain(ends, index);
    free_place(ends, index);
}
