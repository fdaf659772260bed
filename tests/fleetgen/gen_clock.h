/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_GEN_CLOCK_H
#define WP_TESTS_GEN_CLOCK_H
/* A host's clock as a function of true time: an offset, a drift, steps forward (its virtual machine did not stand
 * still, all others did: seen from here that is the same). */
#include <stdint.h>

#define GEN_STEPS 4u

struct gen_clock {
    uint64_t origin_ns; /* true time at which it shows origin + offset */
    int64_t offset_ns;
    int32_t drift_ppm;
    uint32_t step_count;
    struct {
        uint64_t at_ns, by_ns;
    } steps[GEN_STEPS]; /* by true time */
};

uint64_t gen_clock_at(const struct gen_clock *clock, uint64_t true_ns);
/* The true time at which it first shows that. */
uint64_t gen_clock_true(const struct gen_clock *clock, uint64_t shown_ns);

#endif
