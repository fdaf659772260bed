/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock.h"

uint64_t wp_clock_ns(void)
{
    return wp_clock_of_ns(CLOCK_MONOTONIC);
}

uint64_t wp_clock_ms(void)
{
    return wp_clock_ns() / WP_NS_PER_MS;
}

uint64_t wp_clock_of_ns(clockid_t clock)
{
    struct timespec now;
    return clock_gettime(clock, &now) ? 0 : wp_timespec_ns(now);
}

struct timespec wp_clock_deadline(clockid_t clock, unsigned timeout_ms)
{
    struct timespec end;
    clock_gettime(clock, &end);
    end.tv_nsec += (long)(timeout_ms % 1000 * WP_NS_PER_MS);
    end.tv_sec += timeout_ms / 1000 + end.tv_nsec / WP_NS_PER_S;
    end.tv_nsec %= WP_NS_PER_S;
    return end;
}
