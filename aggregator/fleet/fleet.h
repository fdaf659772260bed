/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_FLEET_FLEET_H
#define WP_AGGREGATOR_FLEET_FLEET_H
/*
 * What the sessions of an aggregator have in common: their hosts' timelines, how the clocks of the hosts stand to each
 * other, which sockets are connected, the names of the aggregates, and the other paths that have been followed. A host
 * here is a session: a dense number, given again after it left (`generation` tells). Not thread safe.
 */
#include "aggregator/clock/clocks.h"
#include "aggregator/net/connections.h"
#include "aggregator/timeline/irregular.h"
#include "aggregator/timeline/timeline.h"
#include "common/path.h"

#define WP_AGGREGATES 64u /* of a fleet: one bit each */
#define WP_FLEET_HOSTS 32767u
#define WP_FRAME_REFERENCE UINT32_MAX  /* the aggregator's clock */
#define WP_FRAME_NONE (UINT32_MAX - 1) /* not looked for yet; else a host's number: about that one's clock */

/* [start, end) of one thread's time. */
struct wp_interval {
    uint32_t host, thread;
    uint64_t start_ns, end_ns; /* the host's own clock */
};

/* Zeroed: none. Who has it frees `rows`. */
struct wp_intervals {
    struct wp_interval *rows; /* owned */
    uint32_t count, room;
};

/* A session, or a host of another shard, at its number; all times are ns. */
struct wp_fleet_host {
    struct wp_timeline *timeline; /* borrowed; NULL: it left */
    const char *hostname;         /* borrowed */
    uint32_t clock;               /* its node in clocks */
    uint32_t generation;
    int64_t real_offset_ns; /* its realtime - its time, as it says */
    uint64_t horizon_ns;    /* facts after this are not looked at: whether they are there yet must not matter */
    uint64_t known_ns;      /* facts before this are all there */
    uint64_t resolved_ns;
    uint64_t heard_ns;       /* when its collector last said something, aggregator's clock */
    int64_t align_ns;        /* its time + align = about the time of its frame; for pacing alone */
    uint32_t frame;          /* whose time that is; hosts of different frames cannot be compared */
    uint32_t waits_on;       /* whom it waited for last: asked first */
    uint64_t waits_since_ns; /* aggregator's clock: it cannot go on without others; 0: it can */
    int64_t least_lag_ns;    /* behind the aggregator's clock, and when that was */
    uint64_t least_lag_at_ns;
    uint64_t wanted_ns;      /* given up: it is waited for again when it has told up to there */
    uint32_t given_up_count; /* how often others went on without it */
    bool is_given_up;
    bool (*has_drops)(
        const void *session, uint64_t start_ns, uint64_t end_ns); /* lost events in that interval? NULL: none */
    const void *session;                                          /* borrowed */
    uint8_t session_id[16];                                       /* unless it is foreign */
    bool is_foreign;         /* of another shard: its timeline is empty, and only says how far it is */
    uint64_t probed_ns[4];   /* the last probe of its clock, as wp_engine_probed has it; 0: none since other shards were
                                told */
    uint32_t open_questions; /* to other shards, which its own next epoch waits for */
    bool is_over;            /* nothing more will come */
    bool is_resolved;        /* and all of it has been accounted for */
    bool is_followed;        /* with the paths of it that other shards asked for */
};

#define WP_FLEET_LIMITS 8u

/* Filled by wp_fleet_create(); the owner of the fleet sets what paces it. */
struct wp_fleet {
    struct wp_fleet_host *hosts; /* owned */
    uint32_t count, room;
    uint32_t leaves;    /* how often a host left */
    uint32_t reference; /* the aggregator's own clock in clocks */
    uint32_t joined;    /* hosts that ever joined */
    uint32_t expected;  /* nothing is resolved before so many have joined */
    uint64_t now_ns;    /* the aggregator's clock; a host not heard for give_up_ns is not waited for, nor one that is
                         * so far behind and gets no nearer (unless hosts are expected: then all will come) */
    uint64_t give_up_ns;
    uint64_t lateness_ns; /* of the sessions */
    uint64_t
        visits; /* slices that explanations looked at so far, all hosts' together: what time they take, in counts */
    uint64_t visits_before; /* the epoch that is being explained: that many more are its host's */
    struct wp_fleet_limit {
        uint64_t count, ns;
    } limits[WP_FLEET_LIMITS];         /* by enum wp_limit: how often bounds of the explanation bit in
                                        * what was reported so far, and the time that it touched */
    uint64_t irregular[WP_IRREGULARS]; /* of sessions that are over (timeline/irregular.h) */
    uint64_t pause_at; /* an epoch that is explained in parts stops there, and goes on later; 0: never */
    uint32_t
        walking; /* host + 1 whose epoch has stopped so: others are taken in and not explained meanwhile; 0: none */
    struct wp_clocks *clocks;           /* owned */
    struct wp_connections *connections; /* owned */
    struct wp_shards *shards;           /* borrowed; NULL: there are no others */
    char names[WP_AGGREGATES][WP_ID_ROOM], releases[WP_AGGREGATES][WP_ID_ROOM];
    uint32_t name_count;
    uint32_t exemplars[WP_AGGREGATES];           /* sessions that keep one */
    struct wp_intervals followed[WP_AGGREGATES]; /* of the recent past, by aggregate: never counted twice */
};

/* With the aggregator's own clock, and 5 s of give_up_ns. -ENOMEM: *fleet is left alone. */
int wp_fleet_create(struct wp_fleet **fleet);
/* After all hosts have left, since sessions refer to it; frees neither timelines nor shards. NULL is allowed. */
void wp_fleet_destroy(struct wp_fleet *fleet);
/* Gives the timeline its host number. -ENOSPC: too many hosts. */
int wp_fleet_join(
    struct wp_fleet *fleet, struct wp_timeline *timeline, const char *hostname, int64_t real_offset_ns, uint32_t *host);
/* A host that joined. Its connections, clock and followed intervals are forgotten; its timeline stays the owner's. The
 * number may be given again, with another generation. */
void wp_fleet_leave(struct wp_fleet *fleet, uint32_t host);
/* The bit number of the aggregate in that release, made when new; -ENOSPC: there are 64 others. */
int wp_fleet_aggregate(struct wp_fleet *fleet, const char *name, const char *release);
/* The same; -ENOENT: it is none yet. */
int wp_fleet_find_aggregate(const struct wp_fleet *fleet, const char *name, const char *release);
/* What to add to a time of one host to get the other's; false: their clocks have not been compared. */
bool wp_fleet_offset(struct wp_fleet *fleet, uint32_t from, uint64_t at_ns, uint32_t to, struct wp_offset *offset);

/* True when that host lost events in that interval of its own clock. */
bool wp_fleet_has_drops(const struct wp_fleet *fleet, uint32_t host, uint64_t start_ns, uint64_t end_ns);

/* --- pacing: an explanation needs what the others did --- */

/* Has the part that was allowed been explained? */
static inline bool wp_fleet_pauses(const struct wp_fleet *fleet)
{
    return fleet->pause_at && fleet->visits >= fleet->pause_at;
}

/* 0 or -ENOMEM. */
int wp_intervals_add(struct wp_intervals *intervals, const struct wp_interval *interval);
/* By host, thread, start and end; one look at each if they are in order. */
void wp_intervals_sort(struct wp_intervals *intervals);

#endif
