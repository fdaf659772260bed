/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_TYPES_H
#define WP_REPORTER_COMPARE_COMPARE_TYPES_H
/* A comparison: both sides, the rows of their changes, and what was asked for. */
#include "reporter/base/row_limit_types.h"
#include "reporter/compare/method.h"
#include "reporter/compare/moderation.h"
#include "reporter/compare/significance.h"
#include "reporter/facts/facts.h"

enum wp_per {         /* what both sides are divided by */
    WP_PER_WALL,      /* a second in which the process of interest lived */
    WP_PER_ACTIVITY,  /* a second in which it was itself on a CPU */
    WP_PER_RECORDING, /* one recording, for commands that are run from start to end */
    WP_PER_WORK,      /* what a service does in a second of the older side (compare_work.h) */
    WP_PER_REQUEST,   /* a request of a service (compare_requests.h) */
    WP_PER_AUTO, /* RECORDING where both sides are of recorded commands; else REQUEST or WORK where known, or WALL */
};

enum wp_verdict {
    WP_VERDICT_SAME,
    WP_VERDICT_FEW,   /* too few pieces or too short a time to tell */
    WP_VERDICT_WORSE, /* takes longer */
    WP_VERDICT_BETTER,
};

enum wp_change_family {
    WP_CHANGE_WHOLE, /* wall time, rate and latencies of requests: judged first, and by every method */
    WP_CHANGE_HOPS,
    WP_CHANGE_PROCESSES,
    WP_CHANGE_CATEGORIES,
    WP_CHANGE_FUNCTIONS,
    WP_CHANGE_FAMILIES
};
#define WP_CHANGE_JUDGED 4 /* the first four */
#define WP_COMPARE_TOLD 5  /* changes that are said first, at most */

enum { WP_BEFORE, WP_AFTER };

enum wp_change_kind {  /* what the rates of a row are */
    WP_CHANGE_TIME,    /* ns a unit */
    WP_CHANGE_WALL,    /* ns a recording */
    WP_CHANGE_RATE,    /* requests a second: less is worse */
    WP_CHANGE_LATENCY, /* ns a request */
};

struct wp_change {
    const char *name;    /* "make › sh › cc1", "cc1", "Blocking I/O" or a function */
    const char *note;    /* file of a function, NULL */
    const char *process; /* the frame of the row's process ("[cc1]"), NULL */
    const char *place;   /* the application's function where most of it is, "handle (shop.c:12)"; NULL not known */
    const char
        *caller; /* of a process that is waited for, the base's function that most of it is waited for in; or NULL */
    enum wp_change_kind kind;
    int category;       /* -1 none */
    uint32_t hop;       /* of hops: the chain's id while the comparison is made */
    uint32_t permalink; /* a node of the newer flame that the row stands on, 0 none */
    bool is_ignored;    /* not judged: as was asked, or as few recordings cannot tell it */
    bool is_lone;       /* in all recordings of one side, and in none of the other */
    bool is_paced;      /* CPU time that is held against that of other hops (compare_pace.h) */
    bool is_in_all;     /* in all recordings of both sides, and no small part of one */
    uint64_t ns[2], count[2];
    struct wp_measured_rate rate[2];    /* ns a unit, with the error that was taken */
    struct wp_measured_rate between[2]; /* as the recordings of that side alone tell it; freedom 0: there is only one */
    double delta;                       /* ns a unit */
    double idle_delta;                  /* of that: threads that wait for work or for a client */
    double percent;                     /* of before; INFINITY when there was none */
    double t, p, adjusted;              /* adjusted for all rows judged with it */
    enum wp_verdict verdict;
    struct wp_assessment assessment; /* what the method found */
};

struct wp_changes {
    struct wp_change *rows; /* the surest and largest first */
    size_t count, left_out; /* rows below a thousandth of both sides are left out */
};

struct wp_operand {
    const char *overlaps;                            /* other releases at the same time, a sentence; NULL none known */
    const char *commit;                              /* the release's, a line; "" none known */
    const char *line, *workload;                     /* the recorded command's; NULL not told */
    const char *release, *aggregate, *group, *label; /* label: what tells it from the other in a sentence */
    uint64_t wall_ns, total_ns, first_ns, recordings, sampled_ns, bucket_ns;
    uint32_t buckets, intervals;     /* intervals: recordings that can be distinguished */
    double accounted_percent, units; /* units: seconds, recordings or requests that it is divided by */
    double unit_ns;                  /* the whole of one unit */
    double contention;               /* of requests, where few recordings have to do: waits for a CPU that others had */
};

struct wp_compare_options {
    enum wp_per per;
    double alpha, threshold_percent;
    uint32_t ignored; /* bits of categories that are shown and not judged */
    enum wp_method method;
};
/* What rows are ordered by, the greatest first. */
enum wp_compare_measure {
    WP_COMPARE_SURE,       /* the surest and largest changes */
    WP_COMPARE_DIFFERENCE, /* time more or less, for a unit */
    WP_COMPARE_PERCENT,    /* the same, of the older side's */
    WP_COMPARE_OLD,
    WP_COMPARE_NEW,
    WP_COMPARE_MEASURES
};
/* Which rows are shown; zeroed: all. */
struct wp_compare_order {
    enum wp_compare_measure measure;
    struct wp_row_limit limit; /* of the time on either side */
    size_t top;                /* rows of a family; 0: all */
};
#define WP_COMPARE_DEFAULTS ((struct wp_compare_options){WP_PER_AUTO, 0.01, 3, 0, WP_METHOD_T_TEST})

/* By node of one side's flame: what it takes on the other side, at this one's units, and whether that is a change. */
struct wp_compare_flame {
    uint64_t *other_ns;
    uint8_t *marks; /* enum wp_verdict: of the newer side, in both flames */
    uint32_t count;
};

struct wp_compare {
    struct wp_pool pool;
    struct wp_compare_options options;
    enum wp_per asked; /* options.per is what is taken */
    struct wp_operand operand[2];
    struct wp_changes changes[WP_CHANGE_FAMILIES];
    struct wp_compare_flame flames[2];      /* the older side's, and the newer's */
    const struct wp_facts *facts[2];        /* borrowed */
    size_t worse, better, few, same;        /* judged rows */
    size_t judged;                          /* rows tested together */
    size_t shown_rows;                      /* of a family, that were asked for; 0: as many as fit */
    struct wp_change told[WP_COMPARE_TOLD]; /* what is said first: of all rows, before some were left out */
    size_t told_count;
    bool is_unsettled;                               /* by the request, of few recordings (contention.h) */
    bool is_arranged;                                /* told is what is said */
    struct wp_change perhaps;                        /* largely worse and not sure, the first to tell; no name: none */
    struct wp_moderation moderation;                 /* freedom 0: no side has several recordings */
    struct wp_moderation by_category[WP_CATEGORIES]; /* where a recording is the unit: of the large rows of each */
    bool is_worse_whole;  /* the wall time is surely worse, or what requests say of the whole */
    bool is_better_whole; /* surely better, and nothing of the whole is worse */
    bool is_degraded;     /* some judged row is worse */
};

#endif
