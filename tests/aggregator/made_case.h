/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_TESTS_MADE_CASE_H
#define WP_TESTS_MADE_CASE_H
/*
 * One case of the clock tests: a few made hosts, their links, the model that hears their messages; every answer is
 * held against the truth.
 */
#include "made_clocks.h"

#define SECOND 1000000000ull
#define LATENESS (2 * SECOND) /* a moment is asked for when so much more is known */
#define HOSTS 5u

struct made_case {
    struct made_clock hosts[HOSTS];
    struct made_link links[HOSTS];
    unsigned host_count, link_count;
    struct wp_clocks *clocks;
    struct made_random random;
    uint64_t asked, unknown, unsettled, run_until_ns, lateness_ns;
};

void made_case_begin(struct made_case *c, uint64_t seed, unsigned host_count);
void made_case_end(struct made_case *c);
/* Both ways with delays at random, at least 20 us. */
struct made_link *made_case_link(
    struct made_case *c, uint32_t a, uint32_t b, uint64_t period_ns, uint64_t most_delay_ns);
struct made_turn *made_turn_at(struct made_clock *clock, uint64_t at_ns, long double step_ns, long double drift);
void made_case_run(struct made_case *c, uint64_t until_ns);
/* A clock that goes back shows the same times twice; which is meant cannot be told. Times so near to these count, too.
 */
bool made_is_shown_twice(const struct made_case *c, uint32_t host, uint64_t time_ns, uint64_t margin_ns);
/* What is answered must be true; what is not settled only if `wants_all`. False: no answer. */
bool made_case_ask(
    struct made_case *c, uint32_t from, uint32_t to, uint64_t time_ns, bool wants_all, struct wp_offset *offset);
double made_one_way(const struct made_link *link);
/* Runs on to `until_ns` and asks ten times a second, in either direction; the mean bound of what was answered. */
double made_case_inquire(struct made_case *c, uint64_t from_ns, uint64_t until_ns, bool wants_all);
typedef void (*made_case_check)(uint64_t seed);
void made_run_cases(made_case_check one, unsigned long count);

#endif
