/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_ACCOUNT_AGGREGATE_TYPES_H
#define WP_AGGREGATOR_ACCOUNT_AGGREGATE_TYPES_H
/* What an aggregate of a session is made of, and what it has for the store. The aggregate itself is opaque. */
#include "aggregator/explain/explain_options.h"
#include "common/path.h"
#include "common/selector.h"
#include "storage/report/exemplars.h"

#include <stdbool.h>
#include <stdint.h>

struct wp_aggregate;
struct wp_bucket_fact;
struct wp_drop_spans;
struct wp_fleet;
struct wp_report;

struct wp_exemplar_sample_box {
    uint64_t timebox_s;
    struct wp_exemplars set; /* rows without a trace are in the store already */
};

struct wp_exemplar_sample {
    uint64_t timebox_s;                   /* length; 0: all is one */
    struct wp_exemplar_sample_box *boxes; /* owned */
    uint32_t box_count, box_room;
    bool has_news;
};

struct wp_closed_delta { /* the delta of a timebox that is over */
    uint64_t timebox_s;
    struct wp_report *report; /* owned */
};

/* What it is called. */
struct wp_aggregate_id {
    char name[WP_ID_ROOM], release[WP_ID_ROOM];
    char bucket[WP_ID_ROOM]; /* its name in the store, by what it is recorded with (storage/value/bucket.h) */
    struct wp_bucket_fact *bucket_facts; /* owned; WP_BUCKET_FACTS of them */
    uint64_t bit;                        /* in the identities of interest */
};

/* What has been resolved since the last commit. */
struct wp_aggregate_delta {
    struct wp_report *report;       /* since the last commit, or the last timebox; owned */
    struct wp_closed_delta *closed; /* since the last commit; owned */
    uint32_t closed_count;
    bool has_news;       /* the report holds time */
    bool is_bucket_said; /* the store has the facts of the bucket */
    bool has_noted;      /* the timebox of which the store has what the host is: */
    uint64_t noted_timebox_s;
};

struct wp_aggregate_options {
    struct wp_fleet *fleet; /* borrowed */
    uint32_t home;          /* its host there */
    uint32_t number;        /* the aggregate's there */
    int64_t real_offset_ns; /* realtime - host time */
    uint64_t history_ns;
    uint64_t reach_ns;                 /* how far back there may be something to explain with: the history, or more */
    uint64_t timebox_s;                /* of sampled windows; 0: all is one */
    struct wp_explain_options explain; /* a field that is 0: WP_EXPLAIN_DEFAULTS; share and origin_ns: always those */
    /* What names its bucket: */
    const char *selector;
    uint32_t sample_period_ns;
    uint64_t late_sample_ns;
    const char *command, *workload;            /* of all that is recorded; NULL: not told */
    const struct wp_drop_spans *lost;          /* what drops touch; borrowed, NULL none */
    const struct wp_drop_spans *paused, *shed; /* what its collector left out on purpose; borrowed, NULL none */
};

#endif
