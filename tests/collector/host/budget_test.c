/* SPDX-License-Identifier: Apache-2.0 */
/* The budget against loads by formula: what a level costs is known, so is what must come of it. */
#include "collector/host/budget.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#define SECOND 1000000000ull
#define STEP (SECOND / 50) /* the collector's loop */

/* Percent of a CPU: what always is, what stacks cost, what events do. */
struct load {
    double base, stacks, events;
};

struct machine {
    struct wp_budget budget;
    uint64_t now_ns;
    double cost_ns;
    unsigned changes, highest;
};

static double percent_of(const struct machine *m, const struct load *load)
{
    double percent = load->base;
    if (!wp_budget_pauses(&m->budget, m->now_ns))
        percent += load->events;
    if (m->budget.level == WP_BUDGET_WHOLE)
        percent += load->stacks;
    else if (m->budget.level == WP_BUDGET_FEW_STACKS)
        percent += load->stacks / WP_BUDGET_STACK_ONE_IN;
    return percent;
}

static void pass(struct machine *m, const struct load *load, double seconds)
{
    for (uint64_t end = m->now_ns + (uint64_t)(seconds * SECOND); m->now_ns < end; m->now_ns += STEP) {
        m->cost_ns += percent_of(m, load) / 100 * STEP;
        m->changes += wp_budget_look(&m->budget, m->now_ns, (uint64_t)m->cost_ns);
        m->highest = m->budget.level > m->highest ? m->budget.level : m->highest;
    }
}

static struct machine begin(double limit)
{
    struct machine m = {.now_ns = 12345 * SECOND};
    wp_budget_init(&m.budget, limit);
    return m;
}

static void little_is_free(void **state)
{
    (void)state;
    struct machine m = begin(1);
    pass(&m, &(struct load){0.2, 0.3, 0.4}, 600);
    assert_int_equal(m.changes, 0);
}

static void a_burst_is_free(void **state)
{
    (void)state;
    struct machine m = begin(1);
    pass(&m, &(struct load){0.1, 0, 0}, 60);
    pass(&m, &(struct load){0.1, 10, 10}, 1);
    pass(&m, &(struct load){0.1, 0, 0}, 60);
    assert_int_equal(m.changes, 0);
}

static void stacks_go_first(void **state)
{
    (void)state;
    struct machine m = begin(1);
    pass(&m, &(struct load){0.1, 3, 0.2}, 120);
    assert_int_equal(m.highest, WP_BUDGET_FEW_STACKS);
    assert_int_equal(m.budget.level, WP_BUDGET_FEW_STACKS);
    pass(&m, &(struct load){0.1, 11, 0.2}, 120);
    assert_int_equal(m.highest, WP_BUDGET_NO_STACKS);
}

/* Whatever the load: from its beginning on no more than the limit, the credit, and what cannot be left out. */
static void never_more(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int round = 0; round < 200; round++) {
        struct machine m = begin(0.2 + rand_r(&seed) % 50 / 10.0);
        double limit = m.budget.limit_percent;
        struct load load = {
            limit * (rand_r(&seed) % 40) / 100, limit * (rand_r(&seed) % 40), limit * (rand_r(&seed) % 20)};
        pass(&m, &load, 300);
        double allowed = limit / 100 * (300e9 + WP_BUDGET_CREDIT_NS);
        double first = (load.base + load.stacks + load.events) / 100 * 4e9 +
            (load.events + load.base) / 100 * 2 * WP_BUDGET_PERIOD_NS;
        assert_true(m.cost_ns <= allowed + first);
    }
}

static void a_storm_passes(void **state)
{
    (void)state;
    struct machine m = begin(1);
    struct load quiet = {0.1, 0.1, 0.1}, storm = {0.2, 40, 25};
    pass(&m, &quiet, 100);
    assert_int_equal(m.changes, 0);
    pass(&m, &storm, 300);
    assert_in_range(m.budget.level, WP_BUDGET_WINDOWS + 4, WP_BUDGET_LEVELS - 1); /* 25 / 32 */
    double before = m.cost_ns;
    pass(&m, &storm, 400);
    assert_true((m.cost_ns - before) / 400e9 <= 0.0125);
    pass(&m, &quiet, 300);
    assert_int_equal(m.budget.level, WP_BUDGET_WHOLE);
}

/* A return that was too early is not tried as often again. */
static void no_pendulum(void **state)
{
    (void)state;
    struct machine m = begin(1);
    struct load load = {0.1, 9, 0.1}; /* whole 9.2, with few stacks 1.3, with none 0.2 */
    pass(&m, &load, 120);
    unsigned before = m.changes;
    pass(&m, &load, 1200);
    assert_in_range(m.changes - before, 1, 2 * 1200 / 40);
}

static void none_means_none(void **state)
{
    (void)state;
    struct machine m = begin(0);
    pass(&m, &(struct load){50, 50, 50}, 100);
    assert_int_equal(m.changes, 0);
    assert_true(fabs(m.budget.share_percent - 150) < 1); /* told all the same */
}

static void changes_at_once(void **state)
{
    (void)state;
    struct machine m = begin(1);
    struct load load = {0.2, 5, 5};
    pass(&m, &load, 120);
    assert_in_range(m.budget.level, WP_BUDGET_WINDOWS, WP_BUDGET_LEVELS - 1);
    wp_budget_change(&m.budget, 100);
    assert_true(m.budget.level > WP_BUDGET_WHOLE);
    pass(&m, &load, 60);
    assert_int_equal(m.budget.level, WP_BUDGET_WHOLE);
    wp_budget_change(&m.budget, 1);
    pass(&m, &load, 120);
    wp_budget_change(&m.budget, 0);
    assert_int_equal(m.budget.level, WP_BUDGET_WHOLE);
    pass(&m, &load, 60);
    assert_int_equal(m.budget.level, WP_BUDGET_WHOLE);
    wp_budget_change(&m.budget, 1);
    pass(&m, &load, 120);
    assert_in_range(m.budget.level, WP_BUDGET_WINDOWS, WP_BUDGET_LEVELS - 1);
}

/* And none is shorter than a second. */
static void windows_are_as_long_as_they_say(void **state)
{
    (void)state;
    for (unsigned level = 0; level < WP_BUDGET_LEVELS; level++) {
        uint64_t open = 0, begun = 0, step = SECOND / 10, all = 64 * SECOND;
        bool is_open = false;
        for (uint64_t at = 0; at < all; at += step) {
            bool was_open = is_open;
            is_open = !wp_budget_pauses(&(struct wp_budget){.level = level}, 77 * all + at);
            open += is_open;
            begun += is_open && !was_open;
        }
        assert_int_equal(open, level < WP_BUDGET_WINDOWS ? 640 : 640 >> (level - WP_BUDGET_WINDOWS + 1));
        assert_true(open >= 10 * begun);
        assert_true(*wp_budget_name(level));
    }
    assert_string_equal(wp_budget_name(WP_BUDGET_LEVELS), "");
}

static void long_lists_are_rare(void **state)
{
    (void)state;
    struct wp_budget b;
    wp_budget_init(&b, 1);
    wp_budget_lengthen(&b, 1000000); /* 1 ms in 4 s */
    assert_int_equal(b.doublings, 0);
    wp_budget_lengthen(&b, 39000000); /* an eighth of a percent of 32 s is 40 ms */
    assert_int_equal(b.doublings, 3);
    b.level = WP_BUDGET_WINDOWS;
    wp_budget_lengthen(&b, 1000000);
    assert_int_equal(b.doublings, 3);
    uint64_t open = 0, shared = 0, step = WP_BUDGET_PERIOD_NS / 100;
    for (uint64_t at = 0; at < 8ull * WP_BUDGET_PERIOD_NS; at += step) {
        bool is_open = !wp_budget_pauses(&b, 800 * (uint64_t)WP_BUDGET_PERIOD_NS + at);
        open += is_open;
        shared += is_open &&
            !wp_budget_pauses(&(struct wp_budget){.level = b.level}, 800 * (uint64_t)WP_BUDGET_PERIOD_NS + at);
    }
    assert_int_equal(open, 400);
    assert_int_equal(shared, 200); /* with a host of short periods: half of the four whole ones */
    wp_budget_lengthen(&b, UINT64_MAX / 2);
    assert_int_equal(b.doublings, WP_BUDGET_DOUBLINGS);
    wp_budget_init(&b, 0);
    wp_budget_lengthen(&b, UINT64_MAX / 2);
    assert_int_equal(b.doublings, 0);
}

/* Very many threads: a list at each beginning, and a storm that grows while windows are long already. */
static void a_storm_among_many_threads(void **state)
{
    (void)state;
    const uint64_t list_ns = 60000000;
    struct machine m = begin(1);
    struct load load = {0.1, 2, 6};
    bool was_paused = false;
    uint64_t began_ns = m.now_ns;
    for (int second = 0; second < 3600; second++) {
        load.events = second < 1800 ? 6 : 40;
        for (uint64_t end = m.now_ns + SECOND; m.now_ns < end; m.now_ns += STEP) {
            bool is_paused = wp_budget_pauses(&m.budget, m.now_ns);
            m.cost_ns += percent_of(&m, &load) / 100 * STEP + (was_paused && !is_paused ? (double)list_ns : 0);
            was_paused = is_paused;
            wp_budget_lengthen(&m.budget, list_ns);
            wp_budget_look(&m.budget, m.now_ns, (uint64_t)m.cost_ns);
        }
    }
    double seconds = (double)(m.now_ns - began_ns) / SECOND;
    assert_int_equal(m.budget.doublings, 4);
    assert_true(m.budget.level > WP_BUDGET_WINDOWS);
    /* the limit, what was saved up, and one far judgement of a period's double */
    assert_true(m.cost_ns / SECOND < 0.01 * (seconds + 30) + 0.01 * 3 * 64 + 2);
    assert_true(m.cost_ns / SECOND > 0.01 * seconds / 4); /* nor does it give up */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(little_is_free), cmocka_unit_test(a_burst_is_free),
        cmocka_unit_test(stacks_go_first), cmocka_unit_test(never_more), cmocka_unit_test(a_storm_passes),
        cmocka_unit_test(no_pendulum), cmocka_unit_test(none_means_none), cmocka_unit_test(changes_at_once),
        cmocka_unit_test(windows_are_as_long_as_they_say), cmocka_unit_test(long_lists_are_rare),
        cmocka_unit_test(a_storm_among_many_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
