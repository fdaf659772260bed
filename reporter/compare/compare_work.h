/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_WORK_H
#define WP_REPORTER_COMPARE_COMPARE_WORK_H
/*
 * How much a service did in each recording, as far as its hops tell: the median, over the hops that all recordings
 * have, of what a hop takes in this one against the others (the size factors of Anders and Huber, Genome Biology 11,
 * 2010). One hop that takes longer does not move it, and neither load nor that hop moves the others. What one side did
 * against the other is the median of how often hops were taken, where that is known of three: however long each took.
 */
#include "reporter/compare/compare_build.h"

/* Fills build->work (owned), build->work_spread and the sides' units where both sides have two recordings or more, of
 * about the same length, and three hops in common; else *is_known is false. The sides are described and the intervals
 * found. -ENOMEM. */
int wp_compare_work(struct wp_compare_build *build, bool *is_known);

#endif
