/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_PEER_SHARD_TYPES_H
#define WP_AGGREGATOR_PEER_SHARD_TYPES_H
/* What the other shards are asked and told, by whom and how often. */
#include "aggregator/clock/clocks.h"
#include "aggregator/fleet/fleet.h"
#include "common/log.h"
#include "proto/transport_server.h"

#define WP_SHARD_LINKS 32u

struct wp_shards;

struct wp_shards_options {
    struct wp_fleet *fleet; /* borrowed; its `shards` is set */
    const char *name;       /* of this shard */
    uint32_t links;         /* connections to others, numbered from 0 */
    uint64_t flush_ns;      /* facts are told at most so often; 0: 100 ms, and always when recordings are replayed */
    const struct wp_logger *logger; /* borrowed; NULL: none */
    /* Says something to the one at that link; -errno: it did not go. */
    int (*tell)(void *context, uint32_t link, enum wp_frame_type type, const uint8_t *raw, size_t size);
    /* Answers who called. -EAGAIN: it does not read what it asked for, and hears it later. */
    int (*answer)(
        void *context, const struct wp_server_caller *caller, enum wp_frame_type type, const uint8_t *raw, size_t size);
    /* Nothing comes over that link: it is connected anew. NULL: it is not. */
    void (*renew)(void *context, uint32_t link);
    uint64_t (*clock_ns)(void *context); /* the fleet's clock, now; NULL: the time of the last step */
    void *context;
};

#define WP_SHARD_SILENT "its shard did not answer"
#define WP_SHARD_FAR "too many shards on the way"

/* Who asks, beside the sessions (by their number in the fleet): questions of others that are being answered. */
#define WP_SHARDS_ASKED 0x80000000u

/* A wait that a message from another shard's host ended; its host's own times. */
struct wp_shard_wait {
    uint32_t owner;                /* whose explanation needs it */
    uint32_t host, thread;         /* who waits */
    uint32_t far_host, far_socket; /* the other end; socket 0: */
    uint64_t datagram;             /* its key */
    uint32_t aggregate;            /* number in the fleet */
    uint64_t from_ns, to_ns;       /* the part of it to explain */
    uint64_t arrival_ns, start_ns;
    uint32_t position, syscall;
    bool has_request;
    uint32_t request_end;
    uint64_t request_ns;
    struct wp_offset clock; /* far's time = ours + offset */
    uint64_t wait_bound_ns;
    uint32_t depth, hops;
};

struct Wakepath__Shard__Answer;

struct wp_shard_reply {
    const struct Wakepath__Shard__Answer *answer; /* borrowed until the next step */
    uint64_t to_ns;                               /* in the waiting host's time: where its first piece ends */
};

/* A process of another shard, as layers (host WP_LAYER_FOREIGN) name it. */
struct wp_shard_process {
    const char *hostname, *comm; /* borrowed until the next answer */
    uint32_t pid;
    uint64_t start_real_ns;
};
struct wp_shard_counts {
    uint64_t asked, answered;                  /* questions of ours: said, of which answered with pieces */
    uint64_t refused, unanswered;              /* answered with a reason; given up */
    uint64_t questions, late;                  /* of others; of which we could not answer in time */
    uint64_t ends_told, ends_heard, ends_lost; /* of connections; lost: there were too many */
    uint64_t datagrams_told, datagrams_lost;   /* that arrived from nobody of this shard */
    uint64_t paths_lost;                       /* followed for others, of hosts whose session is over */
    uint64_t bad;                              /* messages that broke a rule */
};

#endif
