/* SPDX-License-Identifier: Apache-2.0 */
/* What leavings, arrivals and sends of a connection tell of the clocks of its two hosts. */
#include "aggregator/clock/clock_constraints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define HOSTS 3u

struct place {
    struct wp_clocks *clocks;
    uint32_t nodes[HOSTS];
};

static int set_up(void **state)
{
    struct place *place = calloc(1, sizeof(*place));
    assert_int_equal(wp_clocks_create(&place->clocks), 0);
    for (uint32_t i = 0; i < HOSTS; i++)
        assert_int_equal(wp_clocks_add(place->clocks, &place->nodes[i]), 0);
    *state = place;
    return 0;
}

static int tear_down(void **state)
{
    struct place *place = *state;
    wp_clocks_destroy(place->clocks);
    free(place);
    return 0;
}

static uint64_t constraints_of(const struct place *p, uint32_t host)
{
    struct wp_clock_health health;
    assert_true(wp_clocks_health(p->clocks, p->nodes[host], &health));
    return health.messages;
}

#define HOUR_NS 3600000000000u

/* Host 0 sends to host 1, whose clock shows an hour more. */
static void open_constraint(struct place *p, struct wp_clock_constraints *constraints, uint32_t ends[2])
{
    wp_clock_constraints_init(constraints, p->clocks);
    ends[0] = wp_clock_constraints_open(constraints, p->nodes[0]);
    ends[1] = wp_clock_constraints_open(constraints, p->nodes[1]);
    assert_true(ends[0] && ends[1]);
}

static void leavings_meet_arrivals(void **state)
{
    struct place *p = *state;
    struct wp_clock_constraints constraints;
    uint32_t e[2];
    open_constraint(p, &constraints, e);
    wp_clock_constraints_left(&constraints, e[0], 0xffffff00u, 1000000);
    wp_clock_constraints_arrived(
        &constraints, e[1], 50, HOUR_NS + 1300000); /* more bytes, put together, behind the wrap */
    assert_int_equal(constraints_of(p, 0), 0);      /* nobody knows yet that these are one connection */
    wp_clock_constraints_join(&constraints, e[0], e[1]);
    assert_int_equal(constraints_of(p, 0), 1);
    wp_clock_constraints_left(&constraints, e[0], 5000, 20000000);
    wp_clock_constraints_arrived(&constraints, e[1], 4999, HOUR_NS + 20200000); /* not all of it */
    assert_int_equal(constraints_of(p, 0), 1);
    wp_clock_constraints_arrived(
        &constraints, e[1], 5000, HOUR_NS + 220000000); /* what was missing was lost, and sent again */
    assert_int_equal(constraints_of(p, 0), 2);
    wp_clock_constraints_arrived(&constraints, e[1], 5000, HOUR_NS + 230000000); /* and once more */
    assert_int_equal(constraints_of(p, 0), 2);
    wp_clock_constraints_arrived(&constraints, e[1], 6000, HOUR_NS + 330000000); /* the sender's batch is late */
    wp_clock_constraints_left(&constraints, e[0], 6000, 329000000);
    assert_int_equal(constraints_of(p, 0), 3);
    wp_clock_constraints_left(&constraints, e[1], 100, HOUR_NS + 330000000); /* the answer */
    wp_clock_constraints_arrived(&constraints, e[0], 100, 330500000);
    assert_int_equal(constraints_of(p, 0), 4);
    struct wp_offset offset;
    assert_true(wp_clocks_map(p->clocks, p->nodes[0], 331000000, p->nodes[1], &offset));
    assert_true(offset.offset_ns + (int64_t)offset.bound_ns >= (int64_t)HOUR_NS);
    assert_true(offset.offset_ns - (int64_t)offset.bound_ns <= (int64_t)HOUR_NS);
    wp_clock_constraints_part(&constraints, e[0]);
    wp_clock_constraints_left(&constraints, e[0], 7000, 400000000);
    wp_clock_constraints_arrived(&constraints, e[1], 7000, HOUR_NS + 400000001);
    assert_int_equal(constraints_of(p, 0), 4);
    wp_clock_constraints_close(&constraints, e[0]);
    assert_int_equal(wp_clock_constraints_open(&constraints, p->nodes[2]), e[0]); /* used again */
    wp_clock_constraints_fini(&constraints);
}

/* Two talk for less time than parts two leavings, and stop: each send bounds the clocks, but for those at once. */
static void sends_bound_to_the_end(void **state)
{
    struct place *p = *state;
    struct wp_clock_constraints constraints;
    struct wp_offset offset;
    uint32_t e[2];
    const uint64_t ms = 1000000, delay = 20000;
    open_constraint(p, &constraints, e);
    wp_clock_constraints_join(&constraints, e[0], e[1]);
    for (uint32_t i = 0; i < 5; i++) {
        uint64_t asked = (100 + 2 * i) * ms, answered = asked + ms;
        if (!i)
            wp_clock_constraints_left(&constraints, e[0], 100, asked);
        wp_clock_constraints_sent(&constraints, e[0], 100 * (i + 1), asked);
        wp_clock_constraints_arrived(&constraints, e[1], 100 * (i + 1), HOUR_NS + asked + delay);
        wp_clock_constraints_arrived(&constraints, e[0], 100 * (i + 1), answered + delay); /* its batch comes first */
        if (!i)
            wp_clock_constraints_left(&constraints, e[1], 100, HOUR_NS + answered);
        wp_clock_constraints_sent(&constraints, e[1], 100 * (i + 1), HOUR_NS + answered);
    }
    assert_int_equal(constraints_of(p, 0), 12);
    assert_true(wp_clocks_map(p->clocks, p->nodes[0], 105 * ms, p->nodes[1], &offset));
    assert_true(offset.is_settled && offset.bound_ns < 2 * delay);
    assert_in_range(offset.offset_ns, HOUR_NS - offset.bound_ns, HOUR_NS + offset.bound_ns);
    wp_clock_constraints_sent(&constraints, e[0], 600, 109 * ms);
    wp_clock_constraints_arrived(&constraints, e[1], 600, HOUR_NS + 109 * ms + delay);
    wp_clock_constraints_sent(&constraints, e[0], 700, 109 * ms + 2 * delay);
    wp_clock_constraints_arrived(&constraints, e[1], 700, HOUR_NS + 109 * ms + 3 * delay);
    assert_int_equal(constraints_of(p, 0), 13);
    wp_clock_constraints_fini(&constraints);
}

static void few_are_kept(void **state)
{
    struct place *p = *state;
    struct wp_clock_constraints constraints;
    uint32_t e[2], opened = 0;
    open_constraint(p, &constraints, e);
    for (uint32_t i = 0; i < 100000; i++)
        wp_clock_constraints_left(&constraints, e[0], i, i * 10000000ull);
    for (uint32_t i = 0; i < 100000; i++)
        wp_clock_constraints_arrived(&constraints, e[1], i, HOUR_NS + i * 10000000ull + 100000);
    wp_clock_constraints_join(&constraints, e[0], e[1]);
    assert_in_range(constraints_of(p, 0), 1, 32); /* of the last ones */
    while (wp_clock_constraints_open(&constraints, p->nodes[2]))
        assert_true(++opened < 20000);
    wp_clock_constraints_fini(&constraints);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(leavings_meet_arrivals), TEST(sends_bound_to_the_end), TEST(few_are_kept)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
