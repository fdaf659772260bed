/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks that run as is promised: the truth is inside the bound, and the bound is tight where there is traffic.
 * WP_SEED=N runs the cases of that seed only, WP_CASES=N so many. */
#include "tests/aggregator/made_case.h"

#include "aggregator/clock/clock_hull.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* cmocka wants the headers above */
#include <cmocka.h>

static void steady(uint64_t seed)
{
    struct made_case c;
    made_case_begin(&c, seed, 2);
    struct made_link *link = made_case_link(&c, 0, 1, SECOND / 100, 2000000);
    made_case_inquire(&c, 0, 3 * SECOND, true);
    double bound = made_case_inquire(&c, 3 * SECOND, 20 * SECOND, true);
    /* some 2 %: what rates may be, over the way to the nearest constraints */
    assert_true(bound <= made_one_way(link) * 1.03);
    assert_true(c.unknown <= 1);
    made_case_end(&c);
}

static void test_steady(void **state)
{
    (void)state;
    made_run_cases(steady, 500);
}

/* Nothing but a probe a second, and delays that never change: the bound is that delay and what clocks may do
 * in between. */
static void test_probes_alone(void **state)
{
    (void)state;
    struct made_case c;
    struct wp_offset offset;
    made_case_begin(&c, 5, 2);
    c.links[c.link_count++] = (struct made_link){.a = 0, .b = 1, .period_ns = SECOND, .delay_ns = {500000, 500000}};
    made_case_run(&c, 30 * SECOND);
    for (uint64_t t = 12 * SECOND; t < 18 * SECOND; t += SECOND / 10) {
        assert_true(made_case_ask(&c, 0, 1, t, true, &offset) && offset.is_settled);
        assert_true(offset.bound_ns >= 500000 && offset.bound_ns < 700000);
    }
    made_case_end(&c);
}

/* Traffic as it comes: at random, rare or dense, the clocks' rates wander as far as is promised. */
static void wandering(uint64_t seed)
{
    struct made_case c;
    made_case_begin(&c, seed, 2);
    struct made_link *link = made_case_link(&c, 0, 1, (uint64_t)made_between(&c.random, SECOND / 200, SECOND), 3000000);
    link->is_random = made_next(&c.random) & 1;
    if (made_next(&c.random) & 1) { /* little room for a mistake */
        link->delay_ns[0] = link->delay_ns[1] = 3000;
        link->jitter_ns = 300;
    }
    struct made_clock *clock = &c.hosts[made_next(&c.random) & 1];
    clock->swing_period_ns = (long double)made_between(&c.random, 20, 300) * SECOND;
    long double omega = 2 * 3.14159265358979L / clock->swing_period_ns;
    clock->swing_ns = (long double)made_unit(&c.random) * 4.9e-15L / (omega * omega);
    c.lateness_ns = made_next(&c.random) & 1 ? LATENESS : 12 * SECOND;
    made_case_inquire(&c, 0, 30 * SECOND, true);
    made_case_end(&c);
}

static void test_wandering(void **state)
{
    (void)state;
    made_run_cases(wandering, 500);
}

/* Hosts in a row, each talks with its neighbours only. */
static void chained(uint64_t seed)
{
    struct made_case c;
    made_case_begin(&c, seed, HOSTS);
    double sum = 0;
    for (uint32_t i = 0; i + 1 < HOSTS; i++) {
        bool is_turned = made_next(&c.random) & 1;
        sum += made_one_way(made_case_link(&c, i + is_turned, i + !is_turned, SECOND / 20, 1000000));
    }
    made_case_inquire(&c, 0, 3 * SECOND, true);
    assert_true(made_case_inquire(&c, 3 * SECOND, 15 * SECOND, true) < sum);
    uint64_t unknown = c.unknown;
    struct wp_offset offset;
    for (uint64_t t = 5 * SECOND; t < 15 * SECOND; t += SECOND)
        assert_true(made_case_ask(&c, 0, HOSTS - 1, t, true, &offset));
    assert_int_equal(c.unknown, unknown);
    made_case_end(&c);
}

static void test_chains(void **state)
{
    (void)state;
    made_run_cases(chained, 200);
}

/* The direct pair hardly talks, or talks late; the way over the third host is the better one. */
static void test_tightest_way(void **state)
{
    (void)state;
    struct made_case c;
    struct wp_offset direct, best;
    made_case_begin(&c, 11, 3);
    made_case_link(&c, 0, 1, SECOND, 50000)->delay_ns[0] = 40000000;
    made_case_run(&c, 20 * SECOND);
    assert_true(made_case_ask(&c, 0, 1, 15 * SECOND, true, &direct));
    made_case_end(&c);
    made_case_begin(&c, 11, 3);
    made_case_link(&c, 0, 1, SECOND, 50000)->delay_ns[0] = 40000000;
    made_case_link(&c, 0, 2, SECOND / 10, 50000);
    made_case_link(&c, 1, 2, SECOND / 10, 50000);
    made_case_run(&c, 20 * SECOND);
    assert_true(made_case_ask(&c, 0, 1, 15 * SECOND, true, &best));
    assert_true(best.bound_ns * 10 < direct.bound_ns);
    made_case_end(&c);
}

static void test_thousand_hosts(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    struct made_clock *hosts = calloc(COUNT + 1, sizeof(*hosts));
    struct made_link *links = calloc(COUNT, sizeof(*links));
    struct made_random random = {3};
    struct wp_clocks *clocks;
    struct wp_clock_health health;
    struct wp_offset offset;
    assert_int_equal(wp_clocks_create(&clocks), 0);
    for (uint32_t i = 0, node; i <= COUNT; i++) {
        assert_int_equal(wp_clocks_add(clocks, &node), 0);
        hosts[i].offset_ns = 7200.0L * SECOND + made_between(&random, -3600 * (int64_t)SECOND, 3600 * (int64_t)SECOND);
        hosts[i].drift = (long double)made_between(&random, -200000, 200000) * 1e-9L;
        if (i)
            links[i - 1] = (struct made_link){.a = 0,
                .b = i,
                .delay_ns = {100000, 120000},
                .jitter_ns = 20000,
                .period_ns = SECOND,
                .phase_ns = made_next(&random) % SECOND};
    }
    made_run(clocks, hosts, links, COUNT, 20 * SECOND, &random);
    for (unsigned i = 0; i < 20000; i++) {
        uint32_t from = (uint32_t)made_between(&random, 0, COUNT), to = (uint32_t)made_between(&random, 0, COUNT);
        uint64_t t = (uint64_t)made_between(&random, 6 * (int64_t)SECOND, 15 * (int64_t)SECOND);
        assert_int_equal(made_ask(clocks, hosts, from, to, t, &offset), MADE_TRUE);
        assert_true(offset.is_settled && offset.bound_ns < 1000000);
    }
    for (uint32_t i = 1; i <= COUNT; i += 2)
        wp_clocks_remove(clocks, i);
    assert_true(wp_clocks_health(clocks, 0, &health) && health.peers == COUNT / 2);
    assert_int_equal(made_ask(clocks, hosts, 2, 4, 10 * SECOND, &offset), MADE_TRUE);
    assert_false(wp_clocks_map(clocks, 2, made_reading(&hosts[2], 10 * SECOND), 3, &offset));
    assert_false(wp_clocks_health(clocks, 3, &health));
    uint32_t node;
    assert_int_equal(wp_clocks_add(clocks, &node), 0);
    assert_int_equal(node, COUNT + 1);
    wp_clocks_destroy(clocks);
    free(hosts);
    free(links);
}

static void test_not_enough(void **state)
{
    (void)state;
    struct made_case c;
    struct wp_offset offset = {.bound_ns = 1};
    made_case_begin(&c, 1, 3);
    assert_true(wp_clocks_map(c.clocks, 1, 5, 1, &offset) && !offset.bound_ns && !offset.offset_ns);
    assert_false(wp_clocks_map(c.clocks, 0, 5, 1, &offset));
    assert_false(wp_clocks_map(c.clocks, 0, 5, 7, &offset));
    for (uint64_t t = 1; t < 100; t++) /* one way only */
        wp_clocks_message(c.clocks, 0, t * SECOND / 10, 1, t * SECOND / 10 + 100);
    assert_false(wp_clocks_map(c.clocks, 0, 5 * SECOND, 1, &offset));
    assert_false(wp_clocks_map(c.clocks, 1, 5 * SECOND, 0, &offset));
    wp_clocks_message(c.clocks, 1, 7 * SECOND, 0, 7 * SECOND + 100);
    assert_true(wp_clocks_map(c.clocks, 0, 7 * SECOND, 1, &offset) && !offset.is_settled);
    assert_false(wp_clocks_map(c.clocks, 0, 30 * SECOND, 1, &offset)); /* long after */
    made_case_end(&c);
}

/* Both ways, at that time of both clocks. */
static void exchange(struct made_case *c, uint32_t a, uint32_t b, uint64_t at_ns, uint64_t delay_ns)
{
    wp_clocks_message(c->clocks, a, at_ns, b, at_ns + delay_ns);
    wp_clocks_message(c->clocks, b, at_ns + delay_ns, a, at_ns + 2 * delay_ns);
}

/* Traffic ends: what came last, slower than the tightest of its 34 ms, is the only constraint behind what was before,
 * and better than those of a third host that speaks once a second. */
static void test_end_of_traffic(void **state)
{
    (void)state;
    const uint64_t cell = 1u << 25, end = 1000 * cell + cell / 4;
    struct made_case c;
    struct wp_offset offset;
    made_case_begin(&c, 7, 3);
    for (uint64_t t = end - 3 * SECOND; t < end + 2 * SECOND; t += SECOND)
        for (uint32_t host = 0; host < 2; host++)
            exchange(&c, host, 2, t + SECOND / 3, 400000);
    for (uint64_t t = end - SECOND / 2; t <= end; t += SECOND / 1000)
        exchange(&c, 0, 1, t, 10000);
    for (uint32_t i = 1; i <= 2; i++)
        exchange(&c, 0, 1, end + i * cell / 8, 15000);
    for (uint32_t from = 0; from < 2; from++)
        for (uint64_t t = end - cell; t <= end + cell / 5; t += cell / 32) {
            assert_true(wp_clocks_map(c.clocks, from, t, !from, &offset) && offset.is_settled);
            assert_true(offset.bound_ns < 50000);
        }
    made_case_end(&c);
}

static void test_spans(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct made_case c;
        struct wp_clock_span spans[64];
        made_case_begin(&c, seed, 2);
        made_case_link(&c, 0, 1, SECOND / 10, 500000);
        uint32_t node = seed & 1;
        made_turn_at(&c.hosts[1], 15 * SECOND, 2.0L * SECOND, 0);
        made_case_run(&c, 34 * SECOND);
        uint64_t from_ns = made_reading(&c.hosts[node], 2 * SECOND), to_ns = made_reading(&c.hosts[node], 32 * SECOND);
        const struct wp_clock_range range = {node, !node, from_ns, to_ns};
        size_t count = wp_clocks_spans(c.clocks, &range, spans, 64), held = 0;
        assert_in_range(count, 4, 32);
        for (uint64_t t = 2 * SECOND; t < 32 * SECOND; t += SECOND / 50) {
            uint64_t here = made_reading(&c.hosts[node], t), there = made_reading(&c.hosts[!node], t);
            for (size_t i = 0; i < count; i++) {
                if (here < spans[i].from_ns || here >= spans[i].to_ns)
                    continue;
                long double grown = (long double)spans[i].drift_ppb * (here - spans[i].from_ns) / 1e9L;
                long double line = spans[i].offset_ns + grown;
                assert_true(fabsl((long double)(int64_t)(there - here) - line) <= spans[i].bound_ns);
                held += spans[i].bound_ns < 2000000;
            }
        }
        assert_true(held > 1500 * 9 / 10);
        assert_int_equal(wp_clocks_spans(c.clocks, &range, spans, 1), 1);
        made_case_end(&c);
    }
}

/* The extreme lines against all lines through two constraints. */
static void test_hull(void **state)
{
    (void)state;
    struct made_random random = {17};
    for (unsigned round = 0; round < 2000; round++) {
        struct wp_clock_hull hull;
        double d[2][24], v[2][24], at = 0;
        unsigned count[2] = {0, 0};
        wp_clock_hull_init(&hull);
        for (unsigned i = 0; i < 24; i++) {
            at += made_unit(&random) * 1e9;
            int side = made_next(&random) & 1;
            double value = 1e-4 * at + (side == WP_UPPER ? 1 : -1) * (made_unit(&random) * 300000 - 5000);
            if (!wp_clock_hull_add(&hull, side, at, value))
                continue;
            d[side][count[side]] = at;
            v[side][count[side]++] = value + (side == WP_UPPER ? 1 : -1) * (1 + WP_CLOCK_WANDER / 2 * at * at);
        }
        double low = -WP_CLOCK_RATE, high = WP_CLOCK_RATE, top = INFINITY, bottom = -INFINITY;
        for (unsigned u = 0; u < count[WP_UPPER]; u++)
            for (unsigned l = 0; l < count[WP_LOWER]; l++) {
                double slope = (v[WP_UPPER][u] - v[WP_LOWER][l]) / (d[WP_UPPER][u] - d[WP_LOWER][l]);
                if (d[WP_UPPER][u] > d[WP_LOWER][l])
                    high = fmin(high, slope);
                else
                    low = fmax(low, slope);
            }
        assert_true(low <= high + 1e-12);
        for (unsigned u = 0; u < count[WP_UPPER]; u++)
            top = fmin(top, v[WP_UPPER][u] - low * d[WP_UPPER][u]);
        for (unsigned l = 0; l < count[WP_LOWER]; l++)
            bottom = fmax(bottom, v[WP_LOWER][l] - high * d[WP_LOWER][l]);
        double said[2];
        wp_clock_hull_interval(&hull.lines, 0, &said[0], &said[1]);
        assert_true(!count[WP_UPPER] || fabs(said[1] - top) < 1);
        assert_true(!count[WP_LOWER] || fabs(said[0] - bottom) < 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_steady),
        cmocka_unit_test(test_probes_alone),
        cmocka_unit_test(test_wandering),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_tightest_way),
        cmocka_unit_test(test_thousand_hosts),
        cmocka_unit_test(test_not_enough),
        cmocka_unit_test(test_end_of_traffic),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_hull),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
