/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks whose truth is known, at random: the truth is inside the bound whatever they do, and the bound is tight where there
 * is traffic. WP_SEED=N runs the cases of that seed only, WP_CASES=N so many. */
#include "made_clocks.h"

#include "aggregator/clock_wedge.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define SECOND 1000000000ull
#define LATENESS (2 * SECOND)   /* a moment is asked for when so much more is known */
#define HOSTS 5u

struct made_case {
    struct made_clock hosts[HOSTS];
    struct made_link links[HOSTS];
    unsigned host_count, link_count;
    struct wp_clocks *clocks;
    struct made_random random;
    uint64_t asked, unknown, unsettled, run_until_ns, lateness_ns;
};

static unsigned long setting(const char *name, unsigned long otherwise)
{
    const char *text = getenv(name);
    return text ? strtoul(text, NULL, 0) : otherwise;
}

static void begin(struct made_case *c, uint64_t seed, unsigned host_count)
{
    *c = (struct made_case){.host_count = host_count, .random = {seed}, .lateness_ns = LATENESS};
    assert_int_equal(wp_clocks_create(&c->clocks), 0);
    for (uint32_t i = 0, node; i < host_count; i++) {
        assert_int_equal(wp_clocks_add(c->clocks, &node), 0);
        assert_int_equal(node, i);
        c->hosts[i].offset_ns = 2.0L * 3600 * SECOND + made_between(&c->random, -3600 * (int64_t)SECOND, 3600 * (int64_t)SECOND);
        c->hosts[i].drift = (long double)made_between(&c->random, -200000, 200000) * 1e-9L;
    }
}

static void end(struct made_case *c)
{
    wp_clocks_destroy(c->clocks);
}

static struct made_link *link_hosts(struct made_case *c, uint32_t a, uint32_t b, uint64_t period_ns, uint64_t most_delay_ns)
{
    struct made_link *link = &c->links[c->link_count++];
    *link = (struct made_link){.a = a, .b = b, .period_ns = period_ns, .phase_ns = made_next(&c->random) % period_ns};
    for (int i = 0; i < 2; i++)
        link->delay_ns[i] = (uint64_t)made_between(&c->random, 20000, (int64_t)most_delay_ns);
    link->jitter_ns = (uint64_t)made_between(&c->random, 1000, (int64_t)link->delay_ns[0]);
    return link;
}

static struct made_turn *turn(struct made_clock *clock, uint64_t at_ns, long double step_ns, long double drift)
{
    clock->turns[clock->turn_count] = (struct made_turn){at_ns, step_ns, drift};
    return &clock->turns[clock->turn_count++];
}

static void run(struct made_case *c, uint64_t until_ns)
{
    made_run(c->clocks, c->hosts, c->links, c->link_count, until_ns, &c->random);
    c->run_until_ns = until_ns;
}

/* A clock that goes back shows the same times twice; which is meant cannot be told. */
static bool is_shown_twice(const struct made_case *c, uint32_t host, uint64_t time_ns)
{
    const struct made_clock *clock = &c->hosts[host];
    for (unsigned i = 0; i < clock->turn_count; i++) {
        long double back_ns = -clock->turns[i].step_ns, after_ns = (long double)time_ns - clock->turns[i].at_ns;
        if (back_ns <= 0 || fabsl(after_ns) > back_ns * 1.001L)
            continue;
        long double other_ns = after_ns < 0 ? (long double)time_ns + back_ns : (long double)time_ns - back_ns;
        if (other_ns > -(long double)SECOND && other_ns < (long double)(c->run_until_ns + SECOND))
            return true;
    }
    return false;
}

/* What is asked for must be true; what is not settled only if `wants_all`. */
static bool ask(struct made_case *c, uint32_t from, uint32_t to, uint64_t time_ns, bool wants_all, struct wp_offset *offset)
{
    enum made_answer answer = made_ask(c->clocks, c->hosts, from, to, time_ns, offset);
    c->asked++;
    c->unknown += answer == MADE_UNKNOWN;
    c->unsettled += answer != MADE_UNKNOWN && !offset->is_settled;
    if (answer == MADE_WRONG && (wants_all || offset->is_settled) && !is_shown_twice(c, from, time_ns))
        fail_msg("%u to %u at %.3f s: the truth is not inside %llu ns", from, to, (double)time_ns / 1e9,
            (unsigned long long)offset->bound_ns);
    return answer != MADE_UNKNOWN;
}

static double one_way(const struct made_link *link)
{
    return (double)(link->delay_ns[0] + link->delay_ns[1]) / 2 + (double)link->jitter_ns;
}

/* Runs on to `until_ns` and asks ten times a second, in either direction; the mean bound of what was answered. */
static double inquire(struct made_case *c, uint64_t from_ns, uint64_t until_ns, bool wants_all)
{
    double sum = 0;
    unsigned count = 0;
    for (uint64_t t = from_ns; t < until_ns; t += (uint64_t)made_between(&c->random, SECOND / 20, SECOND / 7)) {
        struct wp_offset offset;
        uint32_t from = (uint32_t)made_between(&c->random, 0, c->host_count - 1);
        uint32_t to = (from + (uint32_t)made_between(&c->random, 1, c->host_count - 1)) % c->host_count;
        run(c, t + c->lateness_ns);
        if (ask(c, from, to, t, wants_all, &offset)) {
            sum += (double)offset.bound_ns;
            count++;
        }
    }
    return count ? sum / count : INFINITY;
}

typedef void (*made_case_run)(uint64_t seed);

static void run_cases(made_case_run one, unsigned long count)
{
    unsigned long only = setting("WP_SEED", 0);
    count = setting("WP_CASES", count);
    for (unsigned long seed = only ? only : 1; seed <= (only ? only : count); seed++) {
        if (only)
            print_message("seed %lu\n", seed);
        one(seed * 7919);
    }
}

static void steady(uint64_t seed)
{
    struct made_case c;
    begin(&c, seed, 2);
    struct made_link *link = link_hosts(&c, 0, 1, SECOND / 100, 2000000);
    inquire(&c, 0, 3 * SECOND, true);
    double bound = inquire(&c, 3 * SECOND, 20 * SECOND, true);
    assert_true(bound <= one_way(link) * 1.02); /* 2 %: what rates may be, over the way to the nearest constraints */
    assert_true(c.unknown <= 1);
    end(&c);
}

static void test_steady(void **state)
{
    (void)state;
    run_cases(steady, 500);
}

/* Nothing but a probe a second, and delays that never change: the bound is that delay and what clocks may do in between. */
static void test_probes_alone(void **state)
{
    (void)state;
    struct made_case c;
    struct wp_offset offset;
    begin(&c, 5, 2);
    c.links[c.link_count++] = (struct made_link){.a = 0, .b = 1, .period_ns = SECOND, .delay_ns = {500000, 500000}};
    run(&c, 30 * SECOND);
    for (uint64_t t = 12 * SECOND; t < 18 * SECOND; t += SECOND / 10) {
        assert_true(ask(&c, 0, 1, t, true, &offset) && offset.is_settled);
        assert_true(offset.bound_ns >= 500000 && offset.bound_ns < 700000);
    }
    end(&c);
}

/* Traffic as it comes: at random, rare or dense, the clocks' rates wander as far as is promised. */
static void wandering(uint64_t seed)
{
    struct made_case c;
    begin(&c, seed, 2);
    struct made_link *link = link_hosts(&c, 0, 1, (uint64_t)made_between(&c.random, SECOND / 200, SECOND), 3000000);
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
    inquire(&c, 0, 30 * SECOND, true);
    end(&c);
}

static void test_wandering(void **state)
{
    (void)state;
    run_cases(wandering, 500);
}

/* A step of any size, seen or too small to be seen, at any rate of traffic. */
static void stepping(uint64_t seed)
{
    struct made_case c;
    begin(&c, seed, 2);
    struct made_link *link = link_hosts(&c, 0, 1, (uint64_t)made_between(&c.random, SECOND / 200, SECOND), 3000000);
    link->is_random = made_next(&c.random) & 1;
    int64_t limits[] = {300000, 3000000, 100000000, 10 * (int64_t)SECOND, 3600 * (int64_t)SECOND};
    int64_t limit = limits[made_next(&c.random) % 5];
    struct made_clock *clock = &c.hosts[made_next(&c.random) & 1];
    turn(clock, (uint64_t)made_between(&c.random, 11 * (int64_t)SECOND, 12 * (int64_t)SECOND),
        made_between(&c.random, -limit, limit), 0);
    c.lateness_ns = made_next(&c.random) & 1 ? LATENESS : 12 * SECOND;
    inquire(&c, 0, 25 * SECOND, false);
    end(&c);
}

static void test_steps(void **state)
{
    (void)state;
    run_cases(stepping, 1000);
}

/* The frequency is set anew, or the clock is slewed so fast that it looks like many steps. */
static void turning(uint64_t seed)
{
    struct made_case c;
    begin(&c, seed, 2);
    struct made_link *link = link_hosts(&c, 0, 1, (uint64_t)made_between(&c.random, SECOND / 200, SECOND), 3000000);
    link->is_random = made_next(&c.random) & 1;
    struct made_clock *clock = &c.hosts[made_next(&c.random) & 1];
    bool is_slew = made_next(&c.random) & 1;
    long double rate = is_slew ? 0.08L * made_unit(&c.random) + 0.01L : (long double)made_between(&c.random, -400000, 400000) * 1e-9L;
    uint64_t at_ns = (uint64_t)made_between(&c.random, 11 * (int64_t)SECOND, 12 * (int64_t)SECOND);
    turn(clock, at_ns, 0, rate);
    if (is_slew) /* ends again */
        turn(clock, at_ns + (uint64_t)made_between(&c.random, 3 * (int64_t)SECOND, 9 * (int64_t)SECOND), 0, -rate);
    inquire(&c, 0, 30 * SECOND, false);
    end(&c);
}

static void test_turns(void **state)
{
    (void)state;
    run_cases(turning, 500);
}

/* With a probe a second the bound is back, five seconds after the step, to twice what it was. */
static void recovering(uint64_t seed)
{
    struct made_case c;
    begin(&c, seed, 2);
    struct made_link *link = link_hosts(&c, 0, 1, SECOND, 1000000);
    link->jitter_ns = 10000;
    bool is_first = made_next(&c.random) & 1, is_back = made_next(&c.random) & 1;
    int64_t size = made_between(&c.random, 5 * (int64_t)SECOND, made_next(&c.random) & 1 ? 10 * SECOND : 3600 * SECOND);
    turn(&c.hosts[is_first], 20 * SECOND + made_next(&c.random) % SECOND, is_back ? -size : size, 0);
    double before = inquire(&c, 12 * SECOND, 17 * SECOND, false);
    inquire(&c, 17 * SECOND, 26 * SECOND, false);
    if (is_back) { /* times shown twice are not asked for */
        struct wp_offset offset;
        run(&c, 30 * SECOND);
        for (uint64_t t = 26 * SECOND; t < 28 * SECOND; t += SECOND / 10)
            for (uint32_t from = 0; from < 2; from++)
                if (!is_shown_twice(&c, from, t))
                    assert_true(ask(&c, from, !from, t, false, &offset) && offset.bound_ns < 2 * before + 20000);
    } else {
        assert_true(inquire(&c, 26 * SECOND, 31 * SECOND, false) < 2 * before + 20000);
    }
    end(&c);
}

static void test_recovery(void **state)
{
    (void)state;
    run_cases(recovering, 200);
}

/* A virtual machine is suspended: its clock stands still for a minute, and somebody says so. */
static void test_suspended(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct made_case c;
        struct wp_offset offset;
        begin(&c, seed, 2);
        struct made_link *link = link_hosts(&c, 0, 1, SECOND / 5, 500000);
        link->jitter_ns = 10000;
        uint32_t sleeper = seed & 1;
        uint64_t at_ns = 20 * SECOND + made_next(&c.random) % SECOND;
        link->until_ns = at_ns - 50000000;
        turn(&c.hosts[sleeper], at_ns, 0, -1);
        turn(&c.hosts[sleeper], at_ns + 60 * SECOND, 0, 1);
        run(&c, at_ns);
        wp_clocks_step(c.clocks, sleeper, made_reading(&c.hosts[sleeper], at_ns));
        assert_true(ask(&c, sleeper, !sleeper, at_ns - SECOND / 2, true, &offset));
        /* awake, and not a message yet: what was known before says nothing */
        assert_false(ask(&c, sleeper, !sleeper, at_ns + 60 * SECOND + 300000000, true, &offset));
        assert_false(ask(&c, !sleeper, sleeper, at_ns + 300000000, true, &offset));
        link->until_ns = 0;
        link->next_ns = at_ns + 61 * SECOND;
        run(&c, at_ns + 64 * SECOND);
        for (uint64_t t = at_ns + 61 * SECOND; t < at_ns + 63 * SECOND; t += SECOND / 10) {
            assert_true(ask(&c, sleeper, !sleeper, t, true, &offset));
            assert_true(ask(&c, !sleeper, sleeper, t, true, &offset));
            assert_true(offset.bound_ns < 2000000);
        }
        assert_true(ask(&c, sleeper, !sleeper, at_ns - SECOND, true, &offset)); /* and what was before is still known */
        end(&c);
    }
}

/* Told of a step, the model knows on which side of it a moment of the other host lies, with no message in between. */
static void test_told(void **state)
{
    (void)state;
    for (uint32_t stepped = 0; stepped < 2; stepped++) {
        struct made_case c;
        struct wp_offset offset;
        begin(&c, 23, 2);
        c.links[c.link_count++] = (struct made_link){.a = 0, .b = 1, .period_ns = SECOND, .delay_ns = {200000, 200000}};
        uint64_t at_ns = 20 * SECOND + SECOND / 2;
        turn(&c.hosts[stepped], at_ns, SECOND, 0);
        run(&c, 30 * SECOND);
        assert_true(ask(&c, !stepped, stepped, at_ns + SECOND / 4, true, &offset) && offset.bound_ns > SECOND / 2);
        wp_clocks_step(c.clocks, stepped, made_reading(&c.hosts[stepped], at_ns - 1));
        assert_true(ask(&c, !stepped, stepped, at_ns + SECOND / 4, true, &offset) && offset.bound_ns < 2000000);
        assert_true(ask(&c, stepped, !stepped, at_ns + SECOND / 4, true, &offset) && offset.bound_ns < 2000000);
        assert_true(ask(&c, stepped, !stepped, at_ns - SECOND / 4, true, &offset) && offset.bound_ns < 2000000);
        end(&c);
    }
}

/* The host between is sure of the time to 155 ms only, and 145 ms off; meanwhile the last one steps. */
static void test_unsure_between(void **state)
{
    (void)state;
    struct made_case c;
    struct wp_offset offset;
    begin(&c, 29, 3);
    c.links[c.link_count++] = (struct made_link){.a = 0, .b = 1, .period_ns = SECOND / 100, .delay_ns = {300000000, 10000000}};
    c.links[c.link_count++] = (struct made_link){.a = 1, .b = 2, .period_ns = SECOND / 100, .delay_ns = {20000, 20000}};
    turn(&c.hosts[2], 20 * SECOND, SECOND, 0);
    run(&c, 30 * SECOND);
    for (uint64_t t = 20 * SECOND - 200000000; t < 20 * SECOND + 200000000; t += 5000000)
        for (int i = 0; i < 2; i++)
            assert_true(ask(&c, i ? 2 : 0, i ? 0 : 2, t, true, &offset));
    assert_true(ask(&c, 0, 2, 21 * SECOND, true, &offset) && offset.bound_ns < 170000000);
    end(&c);
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
    begin(&c, 7, 3);
    link_hosts(&c, 0, 1, SECOND / 4, 500000);
    for (uint64_t t = 0; t < 30 * SECOND; t += SECOND) {
        run(&c, t + SECOND);
        tell_lies(&c, 2, 0, t, t + SECOND);
        tell_lies(&c, 2, 1, t, t + SECOND);
    }
    assert_false(wp_clocks_map(c.clocks, 2, made_reading(&c.hosts[2], 20 * SECOND), 0, &offset));
    assert_false(wp_clocks_map(c.clocks, 1, made_reading(&c.hosts[1], 20 * SECOND), 2, &offset));
    assert_true(ask(&c, 0, 1, 20 * SECOND, true, &offset));
    assert_true(wp_clocks_health(c.clocks, 2, &health));
    assert_false(health.is_usable);
    assert_true(health.contradictions >= 16 && health.peers == 2 && health.condemned_peers == 2);
    assert_true(wp_clocks_health(c.clocks, 1, &health));
    assert_true(health.is_usable && health.condemned_peers == 1);
    link_hosts(&c, 0, 2, SECOND / 4, 500000)->next_ns = 40 * SECOND; /* it mends its ways */
    run(&c, 80 * SECOND);
    assert_true(wp_clocks_health(c.clocks, 2, &health) && health.is_usable);
    assert_true(ask(&c, 2, 1, 75 * SECOND, true, &offset));
    end(&c);
}

/* Hosts in a row, each talks with its neighbours only. */
static void chained(uint64_t seed)
{
    struct made_case c;
    begin(&c, seed, HOSTS);
    double sum = 0;
    for (uint32_t i = 0; i + 1 < HOSTS; i++) {
        bool is_turned = made_next(&c.random) & 1;
        sum += one_way(link_hosts(&c, i + is_turned, i + !is_turned, SECOND / 20, 1000000));
    }
    inquire(&c, 0, 3 * SECOND, true);
    assert_true(inquire(&c, 3 * SECOND, 15 * SECOND, true) < sum);
    uint64_t unknown = c.unknown;
    struct wp_offset offset;
    for (uint64_t t = 5 * SECOND; t < 15 * SECOND; t += SECOND)
        assert_true(ask(&c, 0, HOSTS - 1, t, true, &offset));
    assert_int_equal(c.unknown, unknown);
    end(&c);
}

static void test_chains(void **state)
{
    (void)state;
    run_cases(chained, 200);
}

/* One step somewhere in a row of hosts, which the hosts between are not sure when to expect. */
static void chained_step(uint64_t seed)
{
    struct made_case c;
    struct wp_offset offset;
    begin(&c, seed, 4);
    for (uint32_t i = 0; i < 3; i++)
        link_hosts(&c, i, i + 1, (uint64_t)made_between(&c.random, SECOND / 200, SECOND / 2), 1000000u << made_next(&c.random) % 9);
    uint64_t at_ns = 11 * SECOND + made_next(&c.random) % SECOND;
    turn(&c.hosts[made_next(&c.random) % 4], at_ns, made_between(&c.random, 0, (10 * (int64_t)SECOND) >> made_next(&c.random) % 16), 0);
    inquire(&c, 0, at_ns - SECOND, false);
    run(&c, at_ns + 2 * LATENESS);
    for (uint64_t t = at_ns - SECOND / 20; t < at_ns + SECOND / 20; t += SECOND / 2000) {
        ask(&c, 0, 3, t, false, &offset);
        ask(&c, 3, 0, t, false, &offset);
    }
    inquire(&c, at_ns + SECOND, 25 * SECOND, false);
    end(&c);
}

static void test_chains_with_steps(void **state)
{
    (void)state;
    run_cases(chained_step, 300);
}

/* The direct pair hardly talks, or talks late; the way over the third host is the better one. */
static void test_tightest_way(void **state)
{
    (void)state;
    struct made_case c;
    struct wp_offset direct, best;
    begin(&c, 11, 3);
    link_hosts(&c, 0, 1, SECOND, 50000)->delay_ns[0] = 40000000;
    run(&c, 20 * SECOND);
    assert_true(ask(&c, 0, 1, 15 * SECOND, true, &direct));
    end(&c);
    begin(&c, 11, 3);
    link_hosts(&c, 0, 1, SECOND, 50000)->delay_ns[0] = 40000000;
    link_hosts(&c, 0, 2, SECOND / 10, 50000);
    link_hosts(&c, 1, 2, SECOND / 10, 50000);
    run(&c, 20 * SECOND);
    assert_true(ask(&c, 0, 1, 15 * SECOND, true, &best));
    assert_true(best.bound_ns * 10 < direct.bound_ns);
    end(&c);
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
            links[i - 1] = (struct made_link){.a = 0, .b = i, .delay_ns = {100000, 120000}, .jitter_ns = 20000,
                .period_ns = SECOND, .phase_ns = made_next(&random) % SECOND};
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
    begin(&c, 1, 3);
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
    end(&c);
}

static void test_spans(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct made_case c;
        struct wp_clock_span spans[64];
        begin(&c, seed, 2);
        link_hosts(&c, 0, 1, SECOND / 10, 500000);
        uint32_t node = seed & 1;
        turn(&c.hosts[1], 15 * SECOND, 2.0L * SECOND, 0);
        run(&c, 34 * SECOND);
        uint64_t from_ns = made_reading(&c.hosts[node], 2 * SECOND), to_ns = made_reading(&c.hosts[node], 32 * SECOND);
        size_t count = wp_clocks_spans(c.clocks, node, !node, from_ns, to_ns, spans, 64), held = 0;
        assert_in_range(count, 4, 32);
        for (uint64_t t = 2 * SECOND; t < 32 * SECOND; t += SECOND / 50) {
            uint64_t here = made_reading(&c.hosts[node], t), there = made_reading(&c.hosts[!node], t);
            for (size_t i = 0; i < count; i++) {
                if (here < spans[i].from_ns || here >= spans[i].to_ns)
                    continue;
                long double line = spans[i].offset_ns + (long double)spans[i].drift_ppb * (here - spans[i].from_ns) / 1e9L;
                assert_true(fabsl((long double)(int64_t)(there - here) - line) <= spans[i].bound_ns);
                held += spans[i].bound_ns < 2000000;
            }
        }
        assert_true(held > 1500 * 9 / 10);
        assert_int_equal(wp_clocks_spans(c.clocks, node, !node, from_ns, to_ns, spans, 1), 1);
        end(&c);
    }
}

/* Whatever comes: no fault, no wrong sign of a length. */
static void test_hostile(void **state)
{
    (void)state;
    struct made_case c;
    struct wp_offset offset;
    struct wp_clock_span spans[8];
    begin(&c, 13, 4);
    const uint64_t edges[] = {0, 1, SECOND, UINT64_MAX, UINT64_MAX - 1, UINT64_MAX - SECOND, INT64_MAX, (uint64_t)INT64_MAX + 1};
    for (unsigned i = 0; i < 300000; i++) {
        uint64_t times[2];
        for (int j = 0; j < 2; j++) {
            times[j] = edges[made_next(&c.random) % 8] + made_next(&c.random) % (made_next(&c.random) & 1 ? SECOND : 100 * SECOND);
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
            assert_in_range(wp_clocks_spans(c.clocks, a, b, times[0], times[0] + SECOND, spans, 8), 0, 8);
    }
    struct wp_clock_health health;
    assert_true(wp_clocks_health(c.clocks, 0, &health) && health.refused && health.contradictions && health.late);
    end(&c);
}

/* The extreme lines against all lines through two constraints. */
static void test_wedge(void **state)
{
    (void)state;
    struct made_random random = {17};
    for (unsigned round = 0; round < 2000; round++) {
        struct wp_wedge wedge;
        double d[2][24], v[2][24], at = 0;
        unsigned count[2] = {0, 0};
        wp_wedge_init(&wedge);
        for (unsigned i = 0; i < 24; i++) {
            at += made_unit(&random) * 1e9;
            int side = made_next(&random) & 1;
            double value = 1e-4 * at + (side == WP_UPPER ? 1 : -1) * (made_unit(&random) * 300000 - 5000);
            if (!wp_wedge_add(&wedge, side, at, value))
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
        wp_wedge_interval(&wedge.lines, 0, &said[0], &said[1]);
        assert_true(!count[WP_UPPER] || fabs(said[1] - top) < 1);
        assert_true(!count[WP_LOWER] || fabs(said[0] - bottom) < 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wedge),
        cmocka_unit_test(test_steady),
        cmocka_unit_test(test_probes_alone),
        cmocka_unit_test(test_wandering),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_turns),
        cmocka_unit_test(test_recovery),
        cmocka_unit_test(test_suspended),
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_unsure_between),
        cmocka_unit_test(test_liar),
        cmocka_unit_test(test_chains),
        cmocka_unit_test(test_chains_with_steps),
        cmocka_unit_test(test_tightest_way),
        cmocka_unit_test(test_thousand_hosts),
        cmocka_unit_test(test_not_enough),
        cmocka_unit_test(test_spans),
        cmocka_unit_test(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
