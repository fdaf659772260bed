/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_BUILD_H
#define WP_REPORTER_COMPARE_COMPARE_BUILD_H
/* A comparison while it is being made; used by compare*.c alone. */
#include "common/intmap.h"
#include "reporter/compare/compare_rows.h"
#include "reporter/compare/intervals.h"
#include "reporter/compare/median.h"
#include "storage/value/latency.h"

/* What requests consist of, by hop and category. */
struct wp_compare_requests {
    struct wp_request_hop *hops; /* owned */
    uint32_t count, room;
    /* By bucket of their latency: how many there are, what is known of their time, and that which waits for a CPU. */
    double number[2][WP_LATENCY_BUCKETS], told_ns[2][WP_LATENCY_BUCKETS], contended_ns[2][WP_LATENCY_BUCKETS];
    double others[2]; /* the share of others in what the service waits for a CPU */
};

/* CPU time of hops in the course of a recording, by the request (compare_pace.h). */
struct wp_compare_pace {
    struct wp_intmap keys;      /* hop and category -> row */
    double *part[2];            /* row * buckets + place, ns; owned, as the next */
    double *whole[2];           /* by row */
    double *of_bucket[2];       /* room for the pace of one row */
    struct wp_weighted *ratios; /* room for a ratio a row; NULL: requests are not the unit */
};

struct wp_compare_build {
    struct wp_compare *compare;
    const struct wp_facts *facts[2];
    struct wp_compare_tree tree;
    const double *activity[2]; /* by bucket, what the residuals are taken against */
    double *work[2];           /* the activity as work, where that is the unit; owned */
    double work_spread[2];     /* standard error of the logarithm of the work in a second; 0 not known */
    struct wp_operand_intervals intervals[2];
    struct wp_compare_requests requests; /* count 0: they are not the unit */
    struct wp_compare_pace pace;
    struct wp_intmap keys; /* rows of the family at work */
};

#endif
