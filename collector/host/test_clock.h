/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_HOST_TEST_CLOCK_H
#define WP_COLLECTOR_HOST_TEST_CLOCK_H
/*
 * A clock that is wrong on purpose, for tests of a fleet on one machine: every time that leaves the collector (events,
 * anchors, answers to time probes) is the real one plus an offset, plus a drift, plus a step from some moment on.
 */
#include "common/error.h"
#include "proto/batch.h"
#include "proto/session.h"

/* By how much the clock is wrong; all zero: not at all. */
struct wp_test_clock {
    int64_t offset_ns, real_offset_ns; /* of CLOCK_MONOTONIC, of CLOCK_REALTIME */
    int64_t drift_ppm;                 /* of the time since start_ns */
    uint64_t start_ns;                 /* CLOCK_MONOTONIC; 0: the clock is right */
    uint64_t step_after_ns;            /* since start_ns; 0: no step */
    uint64_t step_ns;                  /* forward: a monotonic clock that stood still elsewhere */
};

/* "OFFSET_MS[,DRIFT_PPM[,STEP_AFTER_S:STEP_MS]]". -EINVAL. */
int wp_test_clock_parse(struct wp_test_clock *clock, const char *text, struct wp_error *err);
/* The wrong time, at least 1, in place of this one of CLOCK_MONOTONIC. 0 (unknown) stays 0. */
uint64_t wp_test_clock_at(const struct wp_test_clock *clock, uint64_t time_ns);
/* Of CLOCK_REALTIME. */
uint64_t wp_test_clock_real(const struct wp_test_clock *clock, uint64_t real_ns);
/* Changes the start times in place. That of CLOCK_REALTIME gets its offset, without drift and step. */
void wp_test_clock_hello(const struct wp_test_clock *clock, struct wp_hello *hello);
/* In place. */
void wp_test_clock_batch(const struct wp_test_clock *clock, struct wp_batch *batch);

#endif
