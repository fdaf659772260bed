/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks that step, stand still, are slewed or lie: the truth is inside the bound all the same, or nothing is said.
 * WP_SEED=N runs the cases of that seed only, WP_CASES=N so many. */
#include "tests/aggregator/made_case.h"

#include "aggregator/clock/clock_pair.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* cmocka wants the headers above */
#include <cmocka.h>

/* A step of any size, seen or too small to be seen, at any rate of traffic. */
static void stepping(uint64_t seed)
{
    struct made_case c;
    made_case_begin(&c, seed, 2);
    struct made_link *link = made_case_link(&c, 0, 1, (uint64_t)made_between(&c.random, SECOND / 200, SECOND), 3000000);
    link->is_random = made_next(&c.random) & 1;
    int64_t limits[] = {300000, 3000000, 100000000, 10 * (int64_t)SECOND, 3600 * (int64_t)SECOND};
    int64_t limit = limits[made_next(&c.random) % 5];
    struct made_clock *clock = &c.hosts[made_next(&c.random) & 1];
    made_turn_at(clock, (uint64_t)made_between(&c.random, 11 * (int64_t)SECOND, 12 * (int64_t)SECOND),
        made_between(&c.random, -limit, limit), 0);
    c.lateness_ns = made_next(&c.random) & 1 ? LATENESS : 12 * SECOND;
    made_case_inquire(&c, 0, 25 * SECOND, false);
    made_case_end(&c);
}

static void test_steps(void **state)
{
    (void)state;
    made_run_cases(stepping, 1000);
}

/* The frequency is set anew, or the clock is slewed so fast that it looks like many steps. */
static void turning(uint64_t seed)
{
    struct made_case c;
    made_case_begin(&c, seed, 2);
    struct made_link *link = made_case_link(&c, 0, 1, (uint64_t)made_between(&c.random, SECOND / 200, SECOND), 3000000);
    link->is_random = made_next(&c.random) & 1;
    struct made_clock *clock = &c.hosts[made_next(&c.random) & 1];
    bool is_slew = made_next(&c.random) & 1;
    long double rate =
        is_slew ? 0.08L * made_unit(&c.random) + 0.01L : (long double)made_between(&c.random, -400000, 400000) * 1e-9L;
    uint64_t at_ns = (uint64_t)made_between(&c.random, 11 * (int64_t)SECOND, 12 * (int64_t)SECOND);
    made_turn_at(clock, at_ns, 0, rate);
    if (is_slew) /* ends again */
        made_turn_at(
            clock, at_ns + (uint64_t)made_between(&c.random, 3 * (int64_t)SECOND, 9 * (int64_t)SECOND), 0, -rate);
    made_case_inquire(&c, 0, 30 * SECOND, false);
    made_case_end(&c);
}

static void test_turns(void **state)
{
    (void)state;
    made_run_cases(turning, 500);
}

/* With a probe a second the bound is back, five seconds after the step, to twice what it was. */
static void recovering(uint64_t seed)
{
    struct made_case c;
    made_case_begin(&c, seed, 2);
    struct made_link *link = made_case_link(&c, 0, 1, SECOND, 1000000);
    link->jitter_ns = 10000;
    bool is_first = made_next(&c.random) & 1, is_back = made_next(&c.random) & 1;
    int64_t size =
        made_between(&c.random, 5 * (int64_t)SECOND, made_next(&c.random) & 1 ? 100 * SECOND : 3600 * SECOND);
    made_turn_at(&c.hosts[is_first], 20 * SECOND + made_next(&c.random) % SECOND, is_back ? -size : size, 0);
    double before = made_case_inquire(&c, 12 * SECOND, 17 * SECOND, false);
    made_case_inquire(&c, 17 * SECOND, 26 * SECOND, false);
    if (is_back) { /* times shown twice are not asked for */
        struct wp_offset offset;
        made_case_run(&c, 30 * SECOND);
        for (uint64_t t = 26 * SECOND; t < 28 * SECOND; t += SECOND / 10)
            for (uint32_t from = 0; from < 2; from++)
                if (!made_is_shown_twice(&c, from, t, 12 * SECOND))
                    assert_true(made_case_ask(&c, from, !from, t, false, &offset) &&
                        (double)offset.bound_ns < 2 * before + 20000);
    } else {
        assert_true(made_case_inquire(&c, 26 * SECOND, 31 * SECOND, false) < 2 * before + 20000);
    }
    made_case_end(&c);
}

static void test_recovery(void **state)
{
    (void)state;
    made_run_cases(recovering, 400);
}

/* A virtual machine is suspended: its clock stands still for a minute, and somebody says so. */
static void test_suspended(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct made_case c;
        struct wp_offset offset;
        made_case_begin(&c, seed, 2);
        struct made_link *link = made_case_link(&c, 0, 1, SECOND / 5, 500000);
        link->jitter_ns = 10000;
        uint32_t sleeper = seed & 1;
        uint64_t at_ns = 20 * SECOND + made_next(&c.random) % SECOND;
        link->until_ns = at_ns - 50000000;
        made_turn_at(&c.hosts[sleeper], at_ns, 0, -1);
        made_turn_at(&c.hosts[sleeper], at_ns + 60 * SECOND, 0, 1);
        made_case_run(&c, at_ns);
        wp_clocks_step(c.clocks, sleeper, made_reading(&c.hosts[sleeper], at_ns));
        assert_true(made_case_ask(&c, sleeper, !sleeper, at_ns - SECOND / 2, true, &offset));
        /* awake, and not a message yet: what was known before says nothing */
        assert_false(made_case_ask(&c, sleeper, !sleeper, at_ns + 60 * SECOND + 300000000, true, &offset));
        assert_false(made_case_ask(&c, !sleeper, sleeper, at_ns + 300000000, true, &offset));
        link->until_ns = 0;
        link->next_ns = at_ns + 61 * SECOND;
        made_case_run(&c, at_ns + 64 * SECOND);
        for (uint64_t t = at_ns + 61 * SECOND; t < at_ns + 63 * SECOND; t += SECOND / 10) {
            assert_true(made_case_ask(&c, sleeper, !sleeper, t, true, &offset));
            assert_true(made_case_ask(&c, !sleeper, sleeper, t, true, &offset));
            assert_true(offset.bound_ns < 2000000);
        }
        /* and what was before is still known */
        assert_true(made_case_ask(&c, sleeper, !sleeper, at_ns - SECOND, true, &offset));
        made_case_end(&c);
    }
}

/* Told of a step, the model knows on which side of it a moment of the other host lies, with no message in between. */
static void test_told(void **state)
{
    (void)state;
    for (uint32_t stepped = 0; stepped < 2; stepped++) {
        struct made_case c;
        struct wp_offset offset;
        made_case_begin(&c, 23, 2);
        c.links[c.link_count++] = (struct made_link){.a = 0, .b = 1, .period_ns = SECOND, .delay_ns = {200000, 200000}};
        uint64_t at_ns = 20 * SECOND + SECOND / 2;
        made_turn_at(&c.hosts[stepped], at_ns, SECOND, 0);
        made_case_run(&c, 30 * SECOND);
        assert_true(
            made_case_ask(&c, !stepped, stepped, at_ns + SECOND / 4, true, &offset) && offset.bound_ns > SECOND / 2);
        wp_clocks_step(c.clocks, stepped, made_reading(&c.hosts[stepped], at_ns - 1));
        assert_true(
            made_case_ask(&c, !stepped, stepped, at_ns + SECOND / 4, true, &offset) && offset.bound_ns < 2000000);
        assert_true(
            made_case_ask(&c, stepped, !stepped, at_ns + SECOND / 4, true, &offset) && offset.bound_ns < 2000000);
        assert_true(
            made_case_ask(&c, stepped, !stepped, at_ns - SECOND / 4, true, &offset) && offset.bound_ns < 2000000);
        made_case_end(&c);
    }
}

/* The host between is sure of the time to 155 ms only, and 145 ms off; meanwhile the last one steps. */
static void test_unsure_between(void **state)
{
    (void)state;
    struct made_case c;
    struct wp_offset offset;
    made_case_begin(&c, 29, 3);
    c.links[c.link_count++] =
        (struct made_link){.a = 0, .b = 1, .period_ns = SECOND / 100, .delay_ns = {300000000, 10000000}};
    c.links[c.link_count++] = (struct made_link){.a = 1, .b = 2, .period_ns = SECOND / 100, .delay_ns = {20000, 20000}};
    made_turn_at(&c.hosts[2], 20 * SECOND, SECOND, 0);
    made_case_run(&c, 23 * SECOND);
    for (uint64_t t = 20 * SECOND - 200000000; t < 20 * SECOND + 200000000; t += 2000000)
        for (int i = 0; i < 2; i++)
            assert_true(made_case_ask(&c, i ? 2 : 0, i ? 0 : 2, t, true, &offset));
    assert_true(made_case_ask(&c, 0, 2, 21 * SECOND, true, &offset) && offset.bound_ns < 170000000);
    made_case_end(&c);
}

/* One step somewhere in a row of hosts, which the hosts between are not sure when to expect. */
static void chained_step(uint64_t seed)
{
    struct made_case c;
    struct wp_offset offset;
    made_case_begin(&c, seed, 4);
    for (uint32_t i = 0; i < 3; i++)
        made_case_link(&c, i, i + 1, (uint64_t)made_between(&c.random, SECOND / 200, SECOND / 2),
            1000000u << made_next(&c.random) % 9);
    uint64_t at_ns = 11 * SECOND + made_next(&c.random) % SECOND;
    int64_t most = (10 * (int64_t)SECOND) >> made_next(&c.random) % 16;
    made_turn_at(&c.hosts[made_next(&c.random) % 4], at_ns, made_between(&c.random, 0, most), 0);
    made_case_inquire(&c, 0, at_ns - SECOND, false);
    made_case_run(&c, at_ns + 2 * LATENESS);
    for (uint64_t t = at_ns - SECOND / 20; t < at_ns + SECOND / 20; t += SECOND / 2000) {
        made_case_ask(&c, 0, 3, t, false, &offset);
        made_case_ask(&c, 3, 0, t, false, &offset);
    }
    made_case_inquire(&c, at_ns + SECOND, 25 * SECOND, false);
    made_case_end(&c);
}

static void test_chains_with_steps(void **state)
{
    (void)state;
    made_run_cases(chained_step, 300);
}

static void tell_lies(struct made_case *c, uint32_t liar, uint32_t other, uint64_t from_ns, uint64_t until_ns)
{
    for (uint64_t t = from_ns; t < until_ns; t += SECOND) {
        uint64_t lie = made_reading(&c->hosts[liar], t) + (uint64_t)made_between(&c->random, 0, 5000000000);
        uint64_t honest = made_reading(&c->hosts[other], t);
        wp_clocks_message(c->clocks, liar, lie, other, honest + 100000);
        wp_clocks_message(c->clocks, other, honest + 110000, liar, lie - 50000000);
    }
}

/* Host 2 lies to both: it is told apart, its numbers say so, and the others go on. */
static void test_liar(void **state)
{
    (void)state;
    struct made_case c;
    struct wp_offset offset;
    struct wp_clock_health health;
    made_case_begin(&c, 7, 3);
    made_case_link(&c, 0, 1, SECOND / 4, 500000);
    for (uint64_t t = 0; t < 30 * SECOND; t += SECOND) {
        made_case_run(&c, t + SECOND);
        tell_lies(&c, 2, 0, t, t + SECOND);
        tell_lies(&c, 2, 1, t, t + SECOND);
    }
    assert_false(wp_clocks_map(c.clocks, 2, made_reading(&c.hosts[2], 20 * SECOND), 0, &offset));
    assert_false(wp_clocks_map(c.clocks, 1, made_reading(&c.hosts[1], 20 * SECOND), 2, &offset));
    assert_true(made_case_ask(&c, 0, 1, 20 * SECOND, true, &offset));
    assert_true(wp_clocks_health(c.clocks, 2, &health));
    assert_false(health.is_usable);
    assert_true(health.contradictions >= 16 && health.peers == 2 && health.condemned_peers == 2);
    assert_true(wp_clocks_health(c.clocks, 1, &health));
    assert_true(health.is_usable && health.condemned_peers == 1);
    made_case_link(&c, 0, 2, SECOND / 4, 500000)->next_ns = 40 * SECOND; /* it mends its ways */
    made_case_run(&c, 80 * SECOND);
    assert_true(wp_clocks_health(c.clocks, 2, &health) && health.is_usable);
    assert_true(made_case_ask(&c, 2, 1, 75 * SECOND, true, &offset));
    made_case_end(&c);
}

/* The first host's clock goes back by minutes, into a cell that had a tighter point: what showed that is the first
 * point of the pair that begins anew. */
static void test_begins_anew(void **state)
{
    (void)state;
    struct wp_clock_pair pair = {0};
    const struct wp_clock_steps none = {0}, *const steps[2] = {&none, &none};
    const uint64_t at_ns = 1000 * (uint64_t)SECOND;
    const struct wp_clock_point late = {at_ns + 1, 200};
    wp_clock_pair_add(&pair, WP_UPPER, (struct wp_clock_point){at_ns, 100}, steps);
    wp_clock_pair_add(&pair, WP_UPPER, (struct wp_clock_point){at_ns + 2 * WP_CLOCK_HISTORY_NS, 100}, steps);
    for (int i = 0; i < 3; i++)
        assert_int_equal(wp_clock_pair_add(&pair, WP_UPPER, late, steps), WP_CLOCK_LATE);
    assert_int_equal(wp_clock_pair_add(&pair, WP_UPPER, late, steps), WP_CLOCK_TIGHTER);
    assert_int_equal(pair.sides[WP_UPPER].count, 1);
    assert_int_equal(pair.sides[WP_UPPER].points[0].offset_ns, 200);
    wp_clock_pair_fini(&pair);
}

/* Whatever comes: no fault, no wrong sign of a length. */
static void test_hostile(void **state)
{
    (void)state;
    struct made_case c;
    struct wp_offset offset;
    struct wp_clock_span spans[8];
    made_case_begin(&c, 13, 4);
    const uint64_t edges[] = {
        0, 1, SECOND, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - SECOND, INT64_MAX, (uint64_t)INT64_MAX + 1};
    for (unsigned i = 0; i < 300000; i++) {
        uint64_t times[2];
        for (int j = 0; j < 2; j++) {
            uint64_t spread = made_next(&c.random) & 1 ? SECOND : 100 * SECOND;
            times[j] = edges[made_next(&c.random) % 8] + made_next(&c.random) % spread;
            if (made_next(&c.random) % 10 == 0)
                times[j] = made_next(&c.random);
        }
        uint32_t a = (uint32_t)(made_next(&c.random) % 5), b = (uint32_t)(made_next(&c.random) % 5);
        wp_clocks_message(c.clocks, a, times[0], b, times[made_next(&c.random) & 1] + made_next(&c.random) % SECOND);
        if (i % 64 == 0)
            wp_clocks_step(c.clocks, a, times[1]);
        if (i % 16 == 0)
            wp_clocks_map(c.clocks, a, times[1], b, &offset);
        if (i % 256 == 0)
            assert_in_range(
                wp_clocks_spans(c.clocks, &(struct wp_clock_range){a, b, times[0], times[0] + SECOND}, spans, 8), 0, 8);
    }
    struct wp_clock_health health;
    assert_true(wp_clocks_health(c.clocks, 0, &health) && health.refused && health.contradictions && health.late);
    made_case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_suspended),
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_unsure_between),
        cmocka_unit_test(test_chains_with_steps),
        cmocka_unit_test(test_liar),
        cmocka_unit_test(test_begins_anew),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
