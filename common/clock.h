/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COMMON_CLOCK_H
#define WP_COMMON_CLOCK_H
/*
 * The time of this host since it started, CLOCK_MONOTONIC: what timeouts and costs are measured with. Times of events
 * come with the events. Any thread.
 */
#include <stdint.h>

uint64_t wp_clock_ns(void);
uint64_t wp_clock_ms(void);

#endif
