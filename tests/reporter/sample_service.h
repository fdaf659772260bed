/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_REPORTER_SAMPLE_SERVICE_H
#define WP_TESTS_REPORTER_SAMPLE_SERVICE_H
/*
 * A made-up service for comparisons: four threads of [web] answer requests through [auth], [postgres] and a disk, and
 * idle otherwise. Each second has a random number of requests around a load that drifts (first-order autoregressive),
 * each hop a random time for each of them; what is left of the threads' second is idle, so that time per wall second is
 * constant.
 */
#include "storage/report/report.h"

struct service_options {
    uint64_t seed;
    unsigned seconds;
    double requests;        /* a second */
    double slower[10];      /* by hop: 0.05 is five percent */
    double steps;           /* size of the load's drift, 0.05 */
    unsigned hour, later_s; /* when it was recorded */
};
#define SERVICE_HOPS 10u
#define SERVICE_DISK 5u                                   /* postgres waits for its disk */
extern const char *const service_hop_names[SERVICE_HOPS]; /* as a comparison calls them */

struct wp_report *sample_service(const struct service_options *options);
/* Adds so many requests on port 80: one of twenty is slow, and the disk is why. */
void sample_service_requests(struct wp_report *report, unsigned requests, uint64_t seed);

#endif
