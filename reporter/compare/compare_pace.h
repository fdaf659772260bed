/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_PACE_H
#define WP_REPORTER_COMPARE_COMPARE_PACE_H
/*
 * How many requests a service has in the course of a recording, as the CPU time of its hops tells it: a hop that runs
 * for requests has more of it where there are more of them. Held against the wall time of a bucket, its CPU time varies
 * as the load does; held against this, as a request's own does. Used by compare*.c alone.
 */
#include "reporter/compare/compare_build.h"

/* Fills build->pace by the request; else it has no hops. -ENOMEM. */
int wp_compare_pace_find(struct wp_compare_build *build);
/* Takes the error of the CPU time of a hop, `part` of each bucket of `side`, against what all other hops run, where
 * that is the smaller one, and adds what such times vary by from one recording to the next. False, and nothing taken:
 * there are few other hops, the row is no hop that runs, or recordings tell how they vary. */
bool wp_compare_pace_take(const struct wp_compare_build *build, const struct wp_change *change, int side,
    const double *part, struct wp_measured_rate *rate);
/* Frees build->pace; a zeroed one is allowed. */
void wp_compare_pace_fini(struct wp_compare_build *build);

#endif
