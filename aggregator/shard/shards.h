/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_SHARD_SHARDS_H
#define WP_AGGREGATOR_SHARD_SHARDS_H
/*
 * The other aggregators (shards) of a fleet: which connections end at hosts of theirs, how their clocks stand to ours, and
 * what their hosts did while ours waited for them. Their hosts are in our fleet with an empty timeline, so that matching,
 * clocks and pacing hold for them as for our own; what a thread there did is asked of its shard. docs/shards.md has the talk.
 * Knows no sockets: it is told what came and says what is to go. Not thread safe.
 */
#include "aggregator/explain/explain.h"
#include "common/log.h"
#include "proto/transport.h"

#define WP_SHARD_LINKS 32u

struct wp_shards;

struct wp_shards_options {
    struct wp_fleet *fleet;          /* borrowed; its `shards` is set */
    const char *name;                /* of this shard */
    uint32_t links;                  /* connections to others, numbered from 0 */
    uint64_t flush_ns;               /* facts are told at most so often; 0: 100 ms, and always when recordings are replayed */
    const struct wp_logger *logger;  /* borrowed; NULL: none */
    /* Says something to the one at that link; -errno: it did not go. */
    int (*tell)(void *context, uint32_t link, enum wp_frame_type type, const uint8_t *raw, size_t size);
    /* Answers who called. -EAGAIN: it does not read what it asked for, and hears it later. */
    int (*answer)(void *context, const struct wp_server_caller *caller, enum wp_frame_type type, const uint8_t *raw, size_t size);
    /* Nothing comes over that link: it is connected anew. NULL: it is not. */
    void (*renew)(void *context, uint32_t link);
    uint64_t (*clock_ns)(void *context); /* the fleet's clock, now; NULL: the time of the last step */
    void *context;
};

int wp_shards_create(struct wp_shards **shards, const struct wp_shards_options *options, struct wp_error *err);
void wp_shards_destroy(struct wp_shards *shards);
/* The time (the fleet's now_ns) has gone on: tells facts, asks, answers what can be answered, gives up. A few times a second
 * at least; each answer waits for one. */
void wp_shards_step(struct wp_shards *shards);
/* What one that connected to us says. -EINVAL: it is bad, `err` says why. */
int wp_shards_called(struct wp_shards *shards, const struct wp_server_caller *caller, enum wp_frame_type type,
    const uint8_t *bytes, size_t size, struct wp_error *err);
/* What came over a link of ours. */
int wp_shards_answered(struct wp_shards *shards, uint32_t link, enum wp_frame_type type, const uint8_t *bytes, size_t size,
    struct wp_error *err);

/* --- for the engine --- */

/* Recordings that are replayed go on in step with those of other shards: may a session of that age have its turn? */
bool wp_shards_may_go(const struct wp_shards *shards, uint64_t age_ns, uint64_t epoch_ns);

/* No host of ours or of theirs is left that somebody could ask for, as far as was told. */
bool wp_shards_are_done(const struct wp_shards *shards);

/* --- for the explanation --- */

#define WP_SHARD_SILENT "its shard did not answer"
#define WP_SHARD_FAR "too many shards on the way"

/* Who asks, beside the sessions (by their number in the fleet): questions of others that are being answered. */
#define WP_SHARDS_ASKED 0x80000000u

/* A wait that a message from another shard's host ended; its host's own times. */
struct wp_shard_wait {
    uint32_t owner;                  /* whose explanation needs it */
    uint32_t host, thread;           /* who waits */
    uint32_t far_host, far_socket;   /* the other end; socket 0: */
    uint64_t datagram;               /* its key */
    uint32_t aggregate;              /* number in the fleet */
    uint64_t from_ns, to_ns;         /* the part of it to explain */
    uint64_t arrival_ns, start_ns;
    uint32_t position, syscall;
    bool has_request;
    uint32_t request_end;
    uint64_t request_ns;
    struct wp_offset clock;          /* far's time = ours + offset */
    uint64_t wait_bound_ns;
    uint32_t depth, hops;
};

struct Wakepath__Shard__Answer;

struct wp_shard_reply {
    const struct Wakepath__Shard__Answer *answer; /* borrowed until the next step */
    uint64_t to_ns;                  /* in the waiting host's time: where its first piece ends */
};

/* What is known of it, and when `may_ask`, asks if nothing is. False: nothing (yet). */
bool wp_shards_look(struct wp_shards *shards, const struct wp_shard_wait *wait, bool may_ask, struct wp_shard_reply *reply);
/* Questions of that owner that are neither answered nor given up. */
uint32_t wp_shards_open(const struct wp_shards *shards, uint32_t owner);
/* True when that remote address is one of a host whose shard is down. */
bool wp_shards_is_lost(const struct wp_shards *shards, const struct wp_socket_entry *entry);
/* True when anything of that host was ever connected with a host of another shard that is here. */
bool wp_shards_concern(const struct wp_shards *shards, uint32_t host);

/* A process of another shard, as layers (host WP_LAYER_FOREIGN) name it. */
struct wp_shard_process {
    const char *hostname, *comm;     /* borrowed until the next answer */
    uint32_t pid;
    uint64_t start_real_ns;
};
/* Its number, made if new; UINT32_MAX: too many. */
uint32_t wp_shards_process_number(struct wp_shards *shards, const struct wp_shard_process *process);
bool wp_shards_process(const struct wp_shards *shards, uint32_t number, struct wp_shard_process *process);

/* --- for those who watch --- */

struct wp_shard_counts {
    uint64_t asked, answered;        /* questions of ours: said, of which answered with pieces */
    uint64_t refused, unanswered;    /* answered with a reason; given up */
    uint64_t questions, late;        /* of others; of which we could not answer in time */
    uint64_t ends_told, ends_heard, ends_lost; /* of connections; lost: there were too many */
    uint64_t datagrams_told, datagrams_lost;   /* that arrived from nobody of this shard */
    uint64_t paths_lost;             /* followed for others, of hosts whose session is over */
    uint64_t bad;                    /* messages that broke a rule */
};
const struct wp_shard_counts *wp_shards_counts(const struct wp_shards *shards);

struct wp_shard_state {
    const char *name;
    bool is_up;
    uint32_t hosts, open;            /* its hosts here; questions out */
    uint64_t bound_ns;               /* of its clock to ours; UINT64_MAX unknown */
};
uint32_t wp_shards_count(const struct wp_shards *shards);
void wp_shards_state(const struct wp_shards *shards, uint32_t index, struct wp_shard_state *state);

#endif
