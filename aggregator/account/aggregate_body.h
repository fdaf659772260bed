/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_AGGREGATE_BODY_H
#define WP_AGGREGATOR_ACCOUNT_AGGREGATE_BODY_H
/* The inside of an aggregate: pieces on their way into the report, windows that are kept, transactions. */
#include "aggregator/account/aggregate_types.h"
#include "aggregator/account/exemplar.h"
#include "aggregator/account/idle_wait.h"
#include "aggregator/account/line_sums.h"
#include "aggregator/account/request_pieces.h"
#include "aggregator/account/transaction_names.h"
#include "aggregator/explain/explain.h"
#include "aggregator/timeline/drop_spans.h"
#include "storage/report/report.h"
#include "storage/value/bucket.h"

struct wp_process_row {
    uint32_t row;  /* + 1 in this delta, 0: none */
    uint32_t comm; /* dictionary string id that it stands under */
};

struct wp_process_rows {    /* of one host */
    struct wp_idtable rows; /* struct wp_process_row by process */
    uint32_t generation;
};

#define WP_SAMPLE_SUMS_SLOTS 1024u /* at most */
struct wp_sample_sums {
    uint32_t *report_nodes; /* tree node -> report node, 0: not in this delta; owned */
    uint32_t report_node_room;
    struct wp_process_rows *processes; /* by host, owned */
    uint32_t process_hosts;
    struct wp_sample_sums_slot *slots; /* what is not in the report yet; owned */
    uint32_t slot_mask;                /* their number - 1 */
    uint32_t evicted; /* since the table grew: sums that went to the report since another kind took their slot */
    uint64_t used[WP_SAMPLE_SUMS_SLOTS / 64]; /* bit i: slot i may hold something */
};

/* Threads that those of interest set going (work_starts.h); zeroed: none. */
struct wp_work_starts {
    struct wp_intmap reached[2]; /* thread and its number: lately, and before that */
    uint64_t looked_ns, forgot_ns;
};

/* Of detached work that is in the delta; zeroed: none. */
struct wp_detached {
    struct wp_work_starts starts;
    struct wp_intmap nodes;     /* node of the tree and who started it -> node of the delta's report of work */
    struct wp_intmap processes; /* wp_layer_process_key -> its row there */
    uint64_t until_visits;      /* of the fleet: later work is not looked into in this epoch */
};

struct wp_transactions {
    struct wp_transaction_names names;
    struct wp_intmap slots; /* thread -> place in the aggregate's base */
    /* of the transaction that is being filed */
    char service[32];
    uint32_t port;
    unsigned bucket;
    uint64_t unread_ns;                   /* so much of the time before it was read is yet to be told */
    uint64_t unread_visits, unread_looks; /* of this epoch: slices and pieces that were looked at for such time */
    uint64_t hop_visits;                  /* the same for requests of threads that worked for others, too */
    struct wp_transaction_sum {           /* pieces that are not in the report yet */
        uint32_t node, part, bucket, port;
        uint64_t ns, count;
    } * sums; /* by node; owned */
};

struct wp_aggregate {
    struct wp_aggregate_id id;
    struct wp_aggregate_delta delta;
    enum wp_selector_view view;          /* whose time is its base */
    struct wp_selector_interval between; /* home's time: what lies outside is not its base */
    struct wp_fleet *fleet;              /* borrowed */
    uint32_t home;                       /* its host there */
    struct wp_timeline *timeline;        /* of that host, borrowed */
    struct wp_idle_places idle_places;
    struct wp_pathtree tree;
    struct wp_explainer *explainer;               /* owned */
    struct wp_sink counted, asked_for, rehearsed; /* of its own time; of paths that others asked for; of what only shows
                                                   * what other shards must be asked */
    struct wp_exemplar exemplar;
    struct wp_exemplar_sample sampled; /* windows kept besides */
    bool has_exemplar;                 /* one of the few of this aggregate that keep one */
    struct wp_transactions transactions;
    struct wp_request_pieces requests;
    struct wp_line_sums lines;
    uint64_t exemplar_ns;     /* host time up to which the exemplar was stored last, 0 never */
    uint32_t exemplar_pieces; /* it had then */
    char *hostname;
    int64_t real_offset_ns; /* realtime - host time, one a session */
    struct wp_sample_sums sample_sums;
    struct wp_detached detached;
    struct {
        uint32_t thread;
        uint64_t from_ns, until_ns;
        uint32_t requests;             /* the first of the epoch that is accounted for now (request_pieces.h) ... */
        struct wp_request_parts parts; /* ... and what was kept for them */
    } * base;                          /* accounted for up to here; from_ns: and lately from here on */
    uint32_t base_count, base_room;
    uint32_t path_host, path_thread; /* whose path is being explained */
    uint64_t active_from_ns,
        active_to_ns;            /* of the base thread that is being accounted for: the report is yet to be told */
    struct wp_intervals waiting; /* other paths still to follow */
    struct wp_intervals
        asked;       /* of this host, that hosts of other shards waited on; followed when their time has come */
    struct wp_walk { /* an epoch that is explained in parts: what of it is done */
        bool is_on;
        enum wp_walk_step {
            WP_WALK_BASE,
            WP_WALK_REPLIES,
            WP_WALK_PATHS,
            WP_WALK_ASKED,
            WP_WALK_WINDOWS,
            WP_WALK_STEPS
        } step;
        uint32_t at, end;       /* of the base threads */
        bool goes_on;           /* the thread at `at` has been accounted for up to until_ns, before the slice ... */
        uint64_t ordinal;       /* ... with this number */
        uint32_t replies;       /* so many of those that are remembered have been looked at */
        uint32_t leaves;        /* of the fleet when it began: behind another one, numbers of hosts mean others */
        uint64_t window_visits; /* slices that were looked at for windows */
        bool has_asked;         /* what others asked for is among what waits */
    } walk;
    struct {                      /* other paths that are being followed */
        struct wp_intervals rows; /* of this round; owned */
        uint32_t at, rounds;
    } following;
    struct wp_intervals *followed; /* those of the recent past, on all hosts: never counted twice; the fleet's */
    uint64_t history_ns;
    uint64_t reach_ns;     /* how far back there may be something to explain with: the history, or more */
    uint64_t resolving_ns; /* the epoch ends there */
    uint64_t detached_ns;  /* runs that ended up to there are known to be waited for or detached */
    uint64_t counted_events[WP_EVENT_KINDS]; /* what earlier deltas said */
    uint64_t counted_drops[WP_EVENT_KINDS];
    uint64_t counted_turns;   /* of unix streams that came too late */
    uint64_t window_until_ns; /* deltas have counted the time up to here */
    uint64_t paused_ns,
        paused_until_ns; /* of the time behind that, up to here, so much was between windows of the recording */
    struct wp_fleet_limit limits[WP_LIMITS]; /* that bit since the last delta */
    uint64_t skip_until_ns,
        skip_seq; /* what is resolved up to here, counted up to that batch, is in the store; 0: nothing */
    const struct wp_drop_spans *lost;          /* what drops touch; borrowed, NULL none */
    const struct wp_drop_spans *paused, *shed; /* what its collector left out on purpose; borrowed, NULL none */
};

/* The part of an epoch that was allowed has been explained. */
static inline bool wp_aggregate_pauses(const struct wp_aggregate *aggregate)
{
    return aggregate->walk.is_on && wp_fleet_pauses(aggregate->fleet);
}

#endif
