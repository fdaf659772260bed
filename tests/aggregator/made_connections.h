/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_MADE_CONNECTIONS_H
#define WP_TESTS_MADE_CONNECTIONS_H
/*
 * Connections of many hosts, of which it is known who talks to whom: new ones and ones older than the recording,
 * through address translation, with ports used again, in networks that all use the same addresses, half recorded,
 * one-way; what is sent is cut and put together on its way, read in parts and sent again; hosts tell of it in batches
 * that come late and in any order, and lose some.
 */
#include "proto/dictionary.h"
#include "proto/event.h"

#include <stdbool.h>
#include <stdint.h>

struct made_end {
    struct wp_socket_entry entry;
    uint32_t host, socket;
    uint32_t peer;     /* index of the other end; UINT32_MAX: nobody records it */
    bool is_matchable; /* enough is told of both ends to know; false: translated, and its beginning was not seen */
};

enum made_step_kind { MADE_EVENT, MADE_ADD, MADE_ASK, MADE_REMOVE };

struct made_step { /* in the order in which the aggregator hears */
    uint64_t heard_ns;
    uint32_t order; /* keeps steps of one host and time in order */
    uint32_t end;   /* index */
    enum made_step_kind kind;
    struct wp_event event;
};

struct made_connections {
    struct made_end *ends;   /* owned */
    struct made_step *steps; /* owned */
    uint32_t end_count, end_room, step_count, step_room;
    uint32_t host_count;
    int64_t *offset_ns; /* by host: its clock - the true one; owned */
};

/* Aborts when out of memory. Times are true ones, from 10 s to about `seconds` later. */
void made_connections_init(
    struct made_connections *made, uint64_t seed, uint32_t hosts, uint32_t connections, uint32_t seconds);
void made_connections_fini(struct made_connections *made);

#endif
