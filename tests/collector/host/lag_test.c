/* SPDX-License-Identifier: Apache-2.0 */
/* The age of what is not acknowledged, on a clock of its own. */
#include "collector/host/lag.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants the ones above */
#include <cmocka.h>

#define S 1000000000ull

static void steady(void **state)
{
    struct wp_lag lag = {.count = 0};
    (void)state;
    assert_int_equal(wp_lag_look(&lag, 0, 0, 5 * S), 0);
    for (uint64_t i = 1; i < 1000; i++) /* ten batches a second, acknowledged three seconds later */
        assert_int_equal(wp_lag_look(&lag, i * 10, i > 3 ? (i - 3) * 10 : 0, i * S), (i > 3 ? 2 : i - 1) * S);
    assert_int_equal(wp_lag_look(&lag, 10000, 10000, 1000 * S), 0);
}

static void an_absent_aggregator(void **state)
{
    struct wp_lag lag = {.count = 0};
    (void)state;
    for (uint64_t i = 1; i <= 86400; i++) {
        assert_int_equal(wp_lag_look(&lag, i, 0, i * S), (i - 1) * S);
        assert_true(lag.count <= WP_LAG_MARKS);
    }
    uint64_t before = 86399 * S; /* it comes back and takes all, a little at a time: the lag only falls */
    for (uint64_t acked = 100; acked < 86400; acked += 100) {
        uint64_t now = wp_lag_look(&lag, 86400, acked, 86400 * S);
        assert_true(now <= before);
        /* never older than it is, and not much younger: marks are at most 1024 s apart here */
        assert_true(now <= (86400 - acked) * S && now + 1024 * S >= (86400 - acked) * S);
        before = now;
    }
}

static void nothing_new(void **state)
{
    struct wp_lag lag = {.count = 0};
    (void)state;
    for (uint64_t i = 0; i < 10; i++) /* one batch that is never acknowledged, and no other comes */
        assert_int_equal(wp_lag_look(&lag, 1, 0, i * S), i * S);
    assert_int_equal(lag.count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady), cmocka_unit_test(an_absent_aggregator), cmocka_unit_test(nothing_new)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
