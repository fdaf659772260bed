/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fleetgen/gen_clock.h"

uint64_t gen_clock_at(const struct gen_clock *clock, uint64_t true_ns)
{
    int64_t since = (int64_t)(true_ns - clock->origin_ns);
    uint64_t shown = true_ns + (uint64_t)clock->offset_ns + (uint64_t)(since * clock->drift_ppm / 1000000);
    for (uint32_t i = 0; i < clock->step_count; i++)
        if (true_ns >= clock->steps[i].at_ns)
            shown += clock->steps[i].by_ns;
    return shown;
}

uint64_t gen_clock_true(const struct gen_clock *clock, uint64_t shown_ns)
{
    uint64_t low = 0, high = (uint64_t)1 << 50; /* thirteen days */
    while (low < high) {                        /* it never goes back */
        uint64_t middle = low + (high - low) / 2;
        if ((int64_t)(gen_clock_at(clock, middle) - shown_ns) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
