/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_NET_ENDS_H
#define WP_AGGREGATOR_NET_ENDS_H
/*
 * Ends of connections of all hosts, found by their initial sequence numbers and, as long as they have a place, by their
 * addresses. Most are over: those have no place. Ends are numbered from 1. Embedded: init first. Not thread safe.
 */
#include "aggregator/net/traffic.h"
#include "common/intmap.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_end_link { /* with the same key: the older one, the newer one */
    uint32_t next, before;
};

/* One end of a connection. */
struct wp_end {
    uint64_t sequence; /* own initial sequence number | the other's << 32; 0 unknown */
    uint32_t host, socket;
    struct wp_end_link by_sequence;
    uint32_t peer;                 /* the other end, 0 unknown */
    uint32_t constraint;           /* its number in the connections' constraints, 0 none */
    struct wp_traffic_alone alone; /* reads that were counted while it had no peer */
    uint32_t place;                /* 0: none */
    bool is_ambiguous, is_loopback;
    bool is_over;      /* closed */
    bool has_sequence; /* is found by it */
};

/* What pairs it by its addresses. */
struct wp_end_place {
    struct wp_intkey address; /* how it is found by its own address */
    struct wp_intkey mirror;  /* how its other end would be */
    struct wp_end_link by_address;
    uint32_t sent_end, arrived_end;
    uint16_t tries;
    bool has_sent, has_arrived;
};

/* All ends, and how they are found. */
struct wp_ends {
    struct wp_end *rows;                          /* owned; [0] is unused */
    struct wp_end_place *places;                  /* owned; [0] is unused */
    uint32_t count, room, free;                   /* free: list through `peer` */
    uint32_t place_count, place_room, place_free; /* free: list through by_address.next */
    struct wp_intmap by_address;                  /* address -> the newest end with it */
    uint32_t *by_sequence;                        /* hash table of the newest end with each sequence, 0 free; owned */
    uint32_t sequence_mask, sequence_count;
};

/* Allocates nothing. */
void wp_ends_init(struct wp_ends *ends);
/* Frees all ends; it is as after wp_ends_init() then. */
void wp_ends_fini(struct wp_ends *ends);
/* Both are copied. The end's number; 0: no memory. */
uint32_t wp_ends_add(struct wp_ends *ends, const struct wp_end *end, const struct wp_end_place *place);
/* `nobody` is the host of ends that are free. */
void wp_ends_remove(struct wp_ends *ends, uint32_t index, uint32_t nobody);
/* It is found by these numbers from now on; -ENOMEM: by none. */
int wp_ends_number(struct wp_ends *ends, uint32_t index, uint64_t sequence);
/* It is not found by its numbers any more, which stay known; by its address. */
void wp_ends_unnumber(struct wp_ends *ends, uint32_t index);
/* It is not found by its address any more, and what its place held is gone; one without a place is allowed. */
void wp_ends_unplace(struct wp_ends *ends, uint32_t index);
/* The newest one with that key, 0: none; older ones are linked to it. */
uint32_t wp_ends_by_sequence(const struct wp_ends *ends, uint64_t sequence);
/* The same by the address, of those that have a place. */
uint32_t wp_ends_by_address(const struct wp_ends *ends, struct wp_intkey address);

/* NULL: it has none. */
static inline struct wp_end_place *wp_ends_place(const struct wp_ends *ends, uint32_t index)
{
    uint32_t place = ends->rows[index].place;
    return place ? &ends->places[place] : NULL;
}

#endif
