/* SPDX-License-Identifier: Apache-2.0 */
/* Acts of a thread: none before it asks, found back from a moment and on from one, and gone with the thread. */
#include "aggregator/net/acts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { SERVER = 3, OTHER = 4, HERS = 70, STOCK = 80 };

static void add(struct wp_acts *acts, uint64_t time_ns, uint32_t socket, enum wp_act_kind kind)
{
    wp_acts_add(acts, SERVER, &(struct wp_act){time_ns, socket, kind});
}

static void found_both_ways(void **state)
{
    (void)state;
    struct wp_acts acts;
    wp_acts_init(&acts);
    add(&acts, 5, HERS, WP_ACT_REQUEST); /* who does not ask is not looked at */
    assert_null(wp_acts_since(&acts, SERVER, 0));
    add(&acts, 10, STOCK, WP_ACT_ASK);
    add(&acts, 20, HERS, WP_ACT_REQUEST);
    add(&acts, 15, HERS, WP_ACT_REQUEST); /* late: left out */
    add(&acts, 30, STOCK, WP_ACT_ANSWER);
    struct wp_acts_back back = wp_acts_before(&acts, SERVER, 30);
    const struct wp_act *act = wp_acts_next(&back);
    assert_int_equal(act->time_ns, 20);
    assert_true(wp_act_is_read(act));
    act = wp_acts_next(&back);
    assert_int_equal(act->time_ns, 10);
    assert_false(wp_act_is_read(act));
    assert_null(wp_acts_next(&back));
    assert_int_equal(wp_acts_since(&acts, SERVER, 11)->time_ns, 20);
    assert_int_equal(wp_acts_since(&acts, SERVER, 30)->time_ns, 30);
    assert_null(wp_acts_since(&acts, SERVER, 31));
    back = wp_acts_before(&acts, OTHER, 30);
    assert_null(wp_acts_next(&back));
    wp_acts_fini(&acts);
}

static void kept_for_a_while(void **state)
{
    (void)state;
    struct wp_acts acts;
    wp_acts_init(&acts);
    size_t empty = wp_acts_bytes(&acts);
    for (uint64_t i = 1; i <= 100000; i++)
        add(&acts, i * WP_NS_PER_MS, STOCK, i % 2 ? WP_ACT_ASK : WP_ACT_ANSWER);
    assert_true(wp_acts_since(&acts, SERVER, 0)->time_ns > 100000 * WP_NS_PER_MS - 3 * WP_MESSAGE_HISTORY_NS);
    assert_true(wp_acts_bytes(&acts) < empty + ((size_t)2 << 20));
    wp_acts_forget(&acts, SERVER);
    assert_null(wp_acts_since(&acts, SERVER, 0));
    wp_acts_fini(&acts);
    assert_int_equal(acts.rings.row_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(found_both_ways), cmocka_unit_test(kept_for_a_while)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
