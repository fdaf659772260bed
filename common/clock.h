/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_CLOCK_H
#define WP_COMMON_CLOCK_H
/*
 * Units of time, and the clocks of this host. Times of events come with the events. Any thread.
 */
#include <stdint.h>
#include <time.h>

/* Signed, so that offsets multiply as they should; a uint64_t beside one stays unsigned. */
#define WP_NS_PER_S INT64_C(1000000000)
#define WP_NS_PER_MS INT64_C(1000000)
#define WP_NS_PER_US INT64_C(1000)

/* Nanoseconds of a time that is not negative. */
static inline uint64_t wp_timespec_ns(struct timespec time)
{
    return (uint64_t)time.tv_sec * WP_NS_PER_S + (uint64_t)time.tv_nsec;
}

/* Since the host started, CLOCK_MONOTONIC: what timeouts and costs are measured with. */
uint64_t wp_clock_ns(void);
/* The same in whole milliseconds, rounded down. */
uint64_t wp_clock_ms(void);
/* What that clock shows; 0: there is none. */
uint64_t wp_clock_of_ns(clockid_t clock);
/* The moment of that clock in `timeout_ms` from now. */
struct timespec wp_clock_deadline(clockid_t clock, unsigned timeout_ms);

#endif
