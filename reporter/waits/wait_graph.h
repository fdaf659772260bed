/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_WAITS_WAIT_GRAPH_H
#define WP_REPORTER_WAITS_WAIT_GRAPH_H
/*
 * Who waits for whom: the layers of the pseudo-stacks folded into a graph. What stands on a process's sleep is what it
 * waited for, so a layer on a layer is a wait of the lower one's process for the upper one's. Ends that are no process
 * (a disk, a peer that nobody records, a wait without an explanation) are parties too, and so are locks and the threads
 * that wait for them and hold them, by function, and the processor that another process had. A wait counts once a
 * stack, however often it comes back.
 */
#include "reporter/facts/facts.h"

#include <stdbool.h>

enum wp_party_kind {
    WP_PARTY_PROCESS,
    WP_PARTY_DISK,
    WP_PARTY_PEER,
    WP_PARTY_UNKNOWN,
    WP_PARTY_HOST,
    WP_PARTY_LOCK,
    WP_PARTY_THREAD,
    WP_PARTY_PROCESSOR /* that another one had, "batch: processor"; or a quota of it */
};

struct wp_party {
    enum wp_party_kind kind;
    const char *name;       /* "web", "web on db-3", "vda", "tcp:10.0.0.7:5432" */
    const char *frame;      /* of a process: its name in the flame, "[web]@db-3"; NULL of others */
    const char *search;     /* of a lock, thread or processor: what finds it in the flame; NULL of others */
    bool is_base;           /* the process of interest; a host that waits more than it is waited for */
    uint64_t waited_ns;     /* for others */
    uint64_t waited_for_ns; /* by others */
    uint32_t knot;          /* place in knots + 1, 0 none */
};

struct wp_graph_wait {
    uint32_t from, to;  /* parties: `from` waited for `to` */
    uint64_t ns, count; /* pieces; of hosts: messages */
    uint32_t permalink; /* of the flame's node that holds most of it, 0 none */
    uint64_t largest_ns;
    uint32_t knot; /* when both ends are in it */
};

/* Parties that wait for each other in a circle. Names that several processes have are in none. */
struct wp_knot {
    const char *name; /* "auth ⇄ web" */
    uint32_t members;
    uint64_t ns; /* that the paths were inside of it, once a stack; of hosts: the sum of its waits */
};

struct wp_wait_graph {
    struct wp_party *parties;    /* by time that they took part in, largest first */
    struct wp_graph_wait *waits; /* longest first */
    struct wp_knot *knots;       /* most members first, then longest */
    uint32_t party_count, wait_count, knot_count;
};

/* Between processes, from the flame; everything in `pool`. Out of memory shows in pool->failed. */
void wp_wait_graph_processes(struct wp_wait_graph *graph, struct wp_pool *pool, const struct wp_facts *facts);
/* Between hosts, from the edges. */
void wp_wait_graph_hosts(struct wp_wait_graph *graph, struct wp_pool *pool, const struct wp_facts *facts);

#endif
