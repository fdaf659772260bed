/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_DATA_TIME_DATA_H
#define WP_REPORTER_DATA_TIME_DATA_H
/*
 * When the time of the flame's cells was, for the choice of an interval: a file of its own, loaded when it is
 * asked for. start (ms since 1970, of each bucket), width (ms), cells (how many samples each cell of the flame has, in
 * its order), and of each sample its place in the buckets and ns.
 */
#include "reporter/facts/facts.h"

/* Appends the script to `out`. -ENOMEM. */
int wp_time_data(struct wp_buffer *out, const struct wp_facts *facts, struct wp_error *err);

#endif
