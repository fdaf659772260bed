/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/net/ends.h"

#include "common/array.h"

#include <stdlib.h>

enum key_space { BY_SEQUENCE = 2, BY_ADDRESS };

void wp_ends_init(struct wp_ends *ends)
{
    *ends = (struct wp_ends){.count = 1, .place_count = 1};
}

void wp_ends_fini(struct wp_ends *ends)
{
    wp_intmap_fini(&ends->index);
    free(ends->rows);
    free(ends->places);
    wp_ends_init(ends);
}

/* --- the index --- */

static struct wp_intkey sequence_key(uint64_t sequence)
{
    return (struct wp_intkey){(uint64_t)BY_SEQUENCE << 61, sequence};
}

static struct wp_intkey address_key(struct wp_intkey key)
{
    return (struct wp_intkey){key.a >> 3 | (uint64_t)BY_ADDRESS << 61, key.b};
}

static uint32_t head_of(const struct wp_ends *ends, struct wp_intkey key)
{
    uint32_t index;
    return wp_intmap_get(&ends->index, key, &index) ? index : 0;
}

uint32_t wp_ends_by_sequence(const struct wp_ends *ends, uint64_t sequence)
{
    return head_of(ends, sequence_key(sequence));
}

uint32_t wp_ends_by_address(const struct wp_ends *ends, struct wp_intkey address)
{
    return head_of(ends, address_key(address));
}

static struct wp_end_link *link_of(const struct wp_ends *ends, uint32_t index, enum key_space space)
{
    return space == BY_SEQUENCE ? &ends->rows[index].by_sequence : &wp_ends_place(ends, index)->by_address;
}

/* Puts end `index` in front of those with that key. -ENOMEM. */
static int chain(struct wp_ends *ends, struct wp_intkey key, uint32_t index, enum key_space space)
{
    uint32_t next = head_of(ends, key);
    int rc = wp_intmap_put(&ends->index, key, index);
    if (rc)
        return rc;
    *link_of(ends, index, space) = (struct wp_end_link){.next = next};
    if (next)
        link_of(ends, next, space)->before = index;
    return 0;
}

static void unchain(struct wp_ends *ends, struct wp_intkey key, uint32_t index, enum key_space space)
{
    struct wp_end_link link = *link_of(ends, index, space);
    if (link.next)
        link_of(ends, link.next, space)->before = link.before;
    if (link.before)
        link_of(ends, link.before, space)->next = link.next;
    else if (link.next)
        wp_intmap_put(&ends->index, key, link.next); /* replaces: no memory is wanted */
    else
        wp_intmap_remove(&ends->index, key);
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
    if (ends->rows[index].place && !chain(ends, address_key(place->address), index, BY_ADDRESS))
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

int wp_ends_number(struct wp_ends *ends, uint32_t index, uint64_t sequence)
{
    wp_ends_unnumber(ends, index);
    int rc = chain(ends, sequence_key(sequence), index, BY_SEQUENCE);
    ends->rows[index].sequence = rc ? 0 : sequence;
    ends->rows[index].has_sequence = !rc;
    return rc;
}

void wp_ends_unnumber(struct wp_ends *ends, uint32_t index)
{
    if (ends->rows[index].has_sequence)
        unchain(ends, sequence_key(ends->rows[index].sequence), index, BY_SEQUENCE);
    ends->rows[index].has_sequence = false;
}

void wp_ends_unplace(struct wp_ends *ends, uint32_t index)
{
    const struct wp_end_place *place = wp_ends_place(ends, index);
    if (place)
        unchain(ends, address_key(place->address), index, BY_ADDRESS);
    free_place(ends, index);
}
