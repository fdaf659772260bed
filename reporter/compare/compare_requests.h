/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_REQUESTS_H
#define WP_REPORTER_COMPARE_COMPARE_REQUESTS_H
/*
 * What a request consists of, hop by hop, where both sides serve the same ports often enough. Other time of a hop is by
 * the second: neither load nor what threads do between requests moves a row. Used by compare*.c alone.
 */
#include "reporter/compare/compare_build.h"

/* A hop and category of both sides; sums in ns. */
struct wp_request_hop {
    uint32_t hop, category;
    uint32_t node;                 /* of the common tree, one of that hop; 0 none */
    double cells_ns[2], pieces[2]; /* of what is not idle */
    double in_ns[2];               /* in requests */
    double in_pieces[2];
    double *by_latency[2];        /* in_ns by bucket of the request's latency; owned */
    double value[2], variance[2]; /* ns a request, and its own variance as requests differ */
    bool is_apart;                /* mostly in no request: its errors are as requests differ */
};

/* Fills build->requests, build->contention and the sides' units when both serve a port with a hundred requests or more
 * whose parts are known; else *is_known is false. The sides are described. -ENOMEM. */
int wp_compare_requests(struct wp_compare_build *build, bool *is_known);
/* Adds what requests have of each row to sums->request; nothing by another unit. -ENOMEM. */
int wp_compare_request_sums(
    const struct wp_compare_build *build, struct wp_row_sums *sums, wp_row_of row_of, void *context);
/* Frees build->requests; zeroed ones are allowed. */
void wp_compare_requests_fini(struct wp_compare_build *build);

#endif
