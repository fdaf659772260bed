/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of unix streams: the read that an answer belongs to, the one of another stream before it, and what is kept. */
#include "aggregator/net/turns.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { SERVER = 3, CLIENT = 4, HERS = 70, HIS = 80 };

static void add(struct wp_turns *turns, uint32_t thread, uint64_t time_ns, uint32_t connection, bool is_read)
{
    wp_turns_add(turns, thread, &(struct wp_turn){time_ns, connection, is_read});
}

static void reads_by_turns(void **state)
{
    (void)state;
    struct wp_turns turns;
    struct wp_turn read, other;
    wp_turns_init(&turns);
    assert_false(wp_turns_read(&turns, SERVER, HERS, 1000, &read, &other));
    add(&turns, SERVER, 10, HIS, true);
    add(&turns, SERVER, 20, HERS, true);
    add(&turns, SERVER, 25, HIS, false);
    add(&turns, SERVER, 30, HIS, true);
    assert_true(wp_turns_read(&turns, SERVER, HERS, 40, &read, &other));
    assert_int_equal(read.time_ns, 20);
    assert_int_equal(other.time_ns, 10);
    assert_true(wp_turns_read(&turns, SERVER, HIS, 40, &read, &other));
    assert_int_equal(read.time_ns, 30);
    assert_int_equal(other.time_ns, 20);
    assert_true(wp_turns_read(&turns, SERVER, HIS, 30, &read, &other));
    assert_int_equal(read.time_ns, 10);
    assert_int_equal(other.time_ns, 0);
    assert_false(wp_turns_read(&turns, SERVER, HERS, 20, &read, &other));
    assert_false(wp_turns_read(&turns, CLIENT, HERS, 40, &read, &other));
    assert_int_equal(wp_turns_written(&turns, SERVER, HIS, 40), 25);
    assert_int_equal(wp_turns_written(&turns, SERVER, HIS, 25), 0);
    assert_int_equal(wp_turns_written(&turns, SERVER, HERS, 40), 0);
    assert_int_equal(wp_turns_first_written(&turns, SERVER, HIS, 25), 25);
    assert_int_equal(wp_turns_first_written(&turns, SERVER, HIS, 26), 0);
    assert_int_equal(wp_turns_first_written(&turns, SERVER, HERS, 10), 0);
    assert_true(wp_turns_first_read(&turns, SERVER, HIS, 11, &read));
    assert_int_equal(read.time_ns, 30);
    assert_false(wp_turns_first_read(&turns, SERVER, HERS, 21, &read));
    assert_true(wp_turns_last_written(&turns, SERVER, 40, &read));
    assert_int_equal(read.time_ns, 25);
    assert_false(wp_turns_last_written(&turns, SERVER, 25, &read));
    wp_turns_fini(&turns);
}

/* As long as messages, and no memory is left of a thread that is gone. */
static void kept_for_a_while(void **state)
{
    (void)state;
    struct wp_turns turns;
    struct wp_turn read, other;
    wp_turns_init(&turns);
    size_t none = wp_turns_bytes(&turns);
    for (uint64_t i = 0; i < 100000; i++)
        add(&turns, SERVER, (i + 1) * WP_NS_PER_MS, i & 1 ? HERS : HIS, true);
    size_t all = wp_turns_bytes(&turns);
    assert_true(all - none < 2 * 2 * 16 * WP_MESSAGE_HISTORY_NS / WP_NS_PER_MS);
    assert_true(wp_turns_read(&turns, SERVER, HIS, 100000 * WP_NS_PER_MS, &read, &other));
    assert_int_equal(read.time_ns, 99999 * WP_NS_PER_MS);
    assert_int_equal(other.time_ns, 99998 * WP_NS_PER_MS);
    wp_turns_forget(&turns, SERVER);
    assert_true(wp_turns_bytes(&turns) < all / 2);
    assert_false(wp_turns_read(&turns, SERVER, HIS, 100000 * WP_NS_PER_MS, &read, &other));
    wp_turns_fini(&turns);
}

/* The last one before the history stays: what a long wait began with. */
static void the_one_before_stays(void **state)
{
    (void)state;
    struct wp_turns turns;
    struct wp_turn read;
    wp_turns_init(&turns);
    add(&turns, SERVER, WP_NS_PER_S, HIS, true);
    add(&turns, SERVER, 2 * WP_NS_PER_S, HERS, true);
    for (uint64_t i = 0; i < 100; i++)
        add(&turns, SERVER, 60 * WP_NS_PER_S + i, HIS, true);
    assert_true(wp_turns_last(&turns, SERVER, 50 * WP_NS_PER_S, &read));
    assert_int_equal(read.time_ns, 2 * WP_NS_PER_S);
    assert_false(wp_turns_last(&turns, SERVER, 2 * WP_NS_PER_S, &read));
    wp_turns_fini(&turns);
}

/* A write that is told late does not break the order. */
static void refuses_older_ones(void **state)
{
    (void)state;
    struct wp_turns turns;
    struct wp_turn read, other;
    wp_turns_init(&turns);
    add(&turns, SERVER, 10, HIS, true);
    add(&turns, SERVER, 20, HERS, true);
    add(&turns, SERVER, 5, HIS, false);
    add(&turns, CLIENT, 5, HIS, false);
    add(&turns, SERVER, 20, HIS, false);
    assert_int_equal(turns.refused, 1);
    assert_true(wp_turns_read(&turns, SERVER, HERS, 21, &read, &other));
    assert_int_equal(read.time_ns, 20);
    assert_int_equal(other.time_ns, 10);
    assert_int_equal(wp_turns_written(&turns, SERVER, HIS, 15), 0);
    assert_int_equal(wp_turns_written(&turns, SERVER, HIS, 21), 20);
    wp_turns_fini(&turns);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(reads_by_turns), cmocka_unit_test(kept_for_a_while),
        cmocka_unit_test(the_one_before_stays), cmocka_unit_test(refuses_older_ones)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
