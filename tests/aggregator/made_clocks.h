/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_MADE_CLOCKS_H
#define WP_TESTS_MADE_CLOCKS_H
/*
 * Hosts with clocks whose truth is known: offset, drift, slow wander, rate changes, steps; and messages between them
 * with delays at random. True time is in ns, from 0; a test asks for what the model says of a moment of true time.
 */
#include "aggregator/clock/clocks.h"

#include <stdbool.h>
#include <stdint.h>

#define MADE_TURNS 16u

struct made_clock {
    long double offset_ns, drift;          /* reading = time * (1 + drift) + offset + what follows */
    long double swing_ns, swing_period_ns; /* a slow sine: the rate wanders */
    struct made_turn {                     /* from then on: steps by so much, runs faster by so much */
        long double at_ns, step_ns, drift;
    } turns[MADE_TURNS];
    unsigned turn_count;
};

struct made_link { /* of two hosts, both ways */
    uint32_t a, b;
    uint64_t delay_ns[2], jitter_ns; /* least delay a -> b, b -> a; mean of what is added */
    uint64_t period_ns, phase_ns;    /* a request and its answer so often; not in lockstep when `is_random` */
    bool is_random;
    uint64_t until_ns; /* 0: goes on */
    uint64_t next_ns;
};

struct made_random {
    uint64_t state;
};

uint64_t made_next(struct made_random *random);
/* In [0, 1), and evenly in [low, high]. */
double made_unit(struct made_random *random);
int64_t made_between(struct made_random *random, int64_t low, int64_t high);

uint64_t made_reading(const struct made_clock *clock, uint64_t time_ns);
/* Sends what the links send up to `until_ns` of true time, in the order of arrival within a link. */
void made_run(struct wp_clocks *clocks, const struct made_clock *hosts, struct made_link *links, unsigned link_count,
    uint64_t until_ns, struct made_random *random);

enum made_answer { MADE_UNKNOWN, MADE_TRUE, MADE_WRONG };
/* What the model says of `from` and `to` at that true time, held against the truth. */
enum made_answer made_ask(struct wp_clocks *clocks, const struct made_clock *hosts, uint32_t from, uint32_t to,
    uint64_t time_ns, struct wp_offset *offset);

#endif
