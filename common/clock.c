/* SPDX-License-Identifier: Apache-2.0 */
#include "common/clock.h"

#include <time.h>

uint64_t wp_clock_ns(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t wp_clock_ms(void)
{
    return wp_clock_ns() / 1000000;
}
