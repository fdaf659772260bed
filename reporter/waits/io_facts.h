/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_WAITS_IO_FACTS_H
#define WP_REPORTER_WAITS_IO_FACTS_H
/* Disks and connections that control paths waited for, from the flame's "io:" and "tcp:"/"udp:" frames. */
#include "reporter/facts/facts.h"

#define WP_IO_NODES 64u

/* One device, kind of operation, file and function that waited for it; or one address and process. */
struct wp_io_row {
    const char *what;               /* "vda", "tcp:10.0.0.3:5432" */
    const char *kind;               /* "write"; of connections why the other end is not recorded, "" it is */
    const char *file;               /* of disks; "" not known */
    const char *process, *function; /* that waited; function "" of connections */
    uint64_t total_ns;  /* of disks: device and queue; of connections: with what the other end did meanwhile */
    uint64_t device_ns; /* at the device; of connections: on its way */
    uint64_t queue_ns;  /* queued before it; of connections: at a peer that nobody records */
    uint64_t count;     /* requests, messages: pieces at the device, on the way, at the peer */
    uint64_t pieces;    /* of the total, with what the other end did meanwhile */
    uint32_t permalink; /* of the flame's node that holds most of it */
    uint64_t largest_ns;
    const char *nodes; /* permalinks of all its nodes, "0123abcd.4567cdef", of at most WP_IO_NODES */
    uint32_t node_count;
};

struct wp_io_facts {
    struct wp_io_row *disks; /* longest first */
    struct wp_io_row *connections;
    size_t disk_count, connection_count;
};

/* In `pool`; out of memory shows in pool->failed. */
void wp_io_facts_build(struct wp_io_facts *io, struct wp_pool *pool, const struct wp_facts *facts);

#endif
