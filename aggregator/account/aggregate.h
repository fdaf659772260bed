/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_AGGREGATE_H
#define WP_AGGREGATOR_ACCOUNT_AGGREGATE_H
/*
 * One aggregate of one session: accounts for the time of its base threads epoch by epoch, explains their sleeps, follows
 * the other paths that were waited for, and gathers all of it in a report (the delta since the last commit) and an
 * exemplar.
 */
#include "aggregator/account/chosen.h"
#include "aggregator/account/exemplar.h"
#include "aggregator/account/line_sums.h"
#include "aggregator/account/pieces.h"
#include "aggregator/account/transactions.h"
#include "aggregator/explain/explain.h"
#include "aggregator/timeline/drop_spans.h"
#include "common/selector.h"
#include "storage/report/report.h"
#include "storage/value/bucket.h"

struct wp_sealed {           /* the delta of a timebox that is over */
    uint64_t timebox_s;
    struct wp_report *report; /* owned */
};

struct wp_aggregate {
    char name[129], release[129];
    char bucket[129];                /* its name in the store, by what it is recorded with (storage/value/bucket.h) */
    struct wp_bucket_fact *bucket_facts; /* owned; WP_BUCKET_FACTS of them */
    bool is_bucket_said;             /* the store has them */
    bool has_noted;                  /* the timebox of which the store has what the host is: */
    uint64_t noted_timebox_s;
    uint64_t bit;
    enum wp_selector_view view;      /* whose time is its base */
    struct wp_fleet *fleet;          /* borrowed */
    uint32_t home;                   /* its host there */
    struct wp_timeline *timeline;    /* of that host, borrowed */
    struct wp_pathtree tree;
    struct wp_explainer explainer;
    struct wp_exemplar exemplar;
    struct wp_chosen chosen;         /* windows kept besides */
    bool has_exemplar;               /* one of the few of this aggregate that keep one */
    struct wp_transactions transactions;
    struct wp_line_sums lines;
    struct wp_report *report;        /* since the last commit, or the last timebox */
    struct wp_sealed *sealed;        /* since the last commit; owned */
    uint32_t sealed_count;
    uint64_t exemplar_ns;            /* host time up to which the exemplar was stored last, 0 never */
    uint32_t exemplar_pieces;        /* it had then */
    char *hostname;
    int64_t real_offset_ns;          /* realtime - host time, one a session */
    struct wp_pieces pieces;
    struct { uint32_t thread; uint64_t from_ns, until_ns; } *base; /* accounted for up to here; from_ns: and lately from here on */
    uint32_t base_count, base_room;
    uint32_t path_host, path_thread; /* whose path is being explained */
    uint64_t active_from_ns, active_to_ns; /* of the base thread that is being accounted for: the report is yet to be told */
    struct wp_stretches waiting;     /* other paths still to follow */
    struct wp_stretches asked;       /* of this host, that hosts of other shards waited on; followed when their time has come */
    bool is_rehearsal;               /* nothing is counted */
    struct wp_walk {                 /* an epoch that is explained in parts: what of it is done */
        bool is_on;
        enum wp_walk_step { WP_WALK_BASE, WP_WALK_REPLIES, WP_WALK_PATHS, WP_WALK_ASKED, WP_WALK_WINDOWS, WP_WALK_STEPS } step;
        uint32_t at, end;            /* of the base threads */
        bool goes_on;                /* the thread at `at` has been accounted for up to until_ns, before the slice ... */
        uint64_t ordinal;            /* ... with this number */
        uint32_t replies;            /* so many of those that are remembered have been looked at */
        bool has_asked;              /* what others asked for is among what waits */
    } walk;
    struct {                         /* other paths that are being followed */
        struct wp_stretches rows;    /* of this round; owned */
        uint32_t at, rounds;
    } following;
    struct wp_stretches *followed;   /* those of the recent past, on all hosts: never counted twice; the fleet's */
    uint64_t history_ns;
    uint64_t reach_ns;               /* how far back there may be something to explain with: the history, or more */
    uint64_t resolving_ns;           /* the epoch ends there */
    uint64_t detached_ns;            /* runs that ended up to there are known to be waited for or detached */
    uint64_t counted_events[WP_EVENT_KINDS]; /* what earlier deltas said */
    uint64_t counted_drops[WP_EVENT_KINDS];
    uint64_t window_until_ns;        /* deltas have counted the time up to here */
    uint64_t paused_ns, paused_until_ns; /* of the time behind that, up to here, so much was between windows of the recording */
    uint64_t counted_limit[WP_LIMITS], counted_limit_ns[WP_LIMITS];
    bool has_news;                   /* the delta holds time */
    uint64_t skip_until_ns, skip_seq; /* what is resolved up to here, counted up to that batch, is in the store; 0: nothing */
    uint64_t (*uncertain)(const void *context, uint64_t start_ns, uint64_t end_ns); /* how much of it drops touch */
    const void *uncertain_context;
    const struct wp_drop_spans *paused, *thinned; /* what its collector left out on purpose; borrowed, NULL none */
};

/* The part of an epoch that was allowed has been explained. */
static inline bool wp_aggregate_pauses(const struct wp_aggregate *aggregate)
{
    return aggregate->walk.is_on && wp_fleet_pauses(aggregate->fleet);
}

/* As the report calls it. */
const char *wp_limit_name(enum wp_limit limit);

/* Of host `home`; `number` is the aggregate's in the fleet. */
int wp_aggregate_init(struct wp_aggregate *aggregate, struct wp_fleet *fleet, uint32_t home, uint32_t number,
    int64_t real_offset_ns);
void wp_aggregate_fini(struct wp_aggregate *aggregate);
/* A thread has an identity of interest from now on. */
void wp_aggregate_add_base(struct wp_aggregate *aggregate, uint32_t thread);
/* It has been accounted for up to there. */
void wp_aggregate_set_base(struct wp_aggregate *aggregate, uint32_t thread, uint64_t until_ns);
/* A checkpoint goes on from there, with all that was set before. */
void wp_aggregate_set_resumed(struct wp_aggregate *aggregate, uint64_t resolved_ns);
/* All that was counted so far, of events and drops, is in the store already. */
void wp_aggregate_skip_counts(struct wp_aggregate *aggregate, const uint64_t *drops);
/* All that was resolved so far, up to there, is in the store already. */
void wp_aggregate_skip_time(struct wp_aggregate *aggregate, uint64_t until_ns);
/* Accounts for all that is complete up to `until_ns`; at the end of a session for all there is. False: a part of it (wp_fleet_pauses), to be
 * called again for the same. */
bool wp_aggregate_resolve(struct wp_aggregate *aggregate, uint64_t until_ns, bool is_final);
/* Goes through what wp_aggregate_resolve would account for, so that other shards are asked what it needs of them; counts nothing.
 * At UINT64_MAX: only the paths that others asked for. */
void wp_aggregate_rehearse(struct wp_aggregate *aggregate, uint64_t until_ns, bool is_final);
/* A host of another shard waited on what that thread of this host did: 0, -ENOBUFS (too much of that), -ENOMEM. */
int wp_aggregate_ask(struct wp_aggregate *aggregate, const struct wp_stretch *stretch);
/* Follows what others asked for up to there; false: a part of it. */
bool wp_aggregate_follow_asked(struct wp_aggregate *aggregate, uint64_t until_ns);
/* Puts events, drops (by kind), window and limits since the last delta into the report. */
void wp_aggregate_close_delta(struct wp_aggregate *aggregate, const uint64_t *drops, uint64_t until_ns);
/* What there is of the delta belongs to that timebox, and what follows to another one: begins anew. -ENOMEM: nothing is done. */
int wp_aggregate_seal(struct wp_aggregate *aggregate, const uint64_t *drops, uint64_t until_ns, uint64_t timebox_s);
/* They are in the store. */
void wp_aggregate_drop_sealed(struct wp_aggregate *aggregate);
/* After the commit: an empty delta. */
void wp_aggregate_next_delta(struct wp_aggregate *aggregate);

#endif
