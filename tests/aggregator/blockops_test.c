/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of block operations: what it remembers while it grows, and what it has forgotten once it went round. */
#include "aggregator/blockops.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define LIMIT 262144u
#define THREAD 3u

/* Operation n has key n, begins at n * 10 and takes 5; returns its number. */
static uint64_t happen(struct wp_blockops *ops, uint64_t n)
{
    struct wp_event event = {.kind = WP_EVENT_BLOCK_INSERT, .time_ns = n * 10, .b = n, .d = 8};
    wp_blockops_event(ops, &event, THREAD);
    event.kind = WP_EVENT_BLOCK_ISSUE;
    wp_blockops_event(ops, &event, THREAD);
    uint64_t number = wp_blockops_number(ops, 8, n);
    event.kind = WP_EVENT_BLOCK_COMPLETE;
    event.time_ns += 5;
    wp_blockops_event(ops, &event, 0);
    return number;
}

static void is_op(const struct wp_blockop *op, uint64_t n)
{
    assert_non_null(op);
    assert_int_equal(op->key, n);
    assert_int_equal(op->done_ns, n * 10 + 5);
}

static void grows(void **state)
{
    (void)state;
    struct wp_blockops ops;
    uint64_t numbers[3000];
    assert_int_equal(wp_blockops_init(&ops), 0);
    for (uint64_t n = 1; n < 3000; n++) {
        numbers[n] = happen(&ops, n);
        is_op(wp_blockops_at(&ops, numbers[n]), n);
        is_op(wp_blockops_last_of(&ops, THREAD, n * 10 + 9), n);
    }
    for (uint64_t n = 1; n < 3000; n++) {
        is_op(wp_blockops_at(&ops, numbers[n]), n);
        is_op(wp_blockops_last_of(&ops, THREAD, n * 10 + 9), n);
    }
    wp_blockops_fini(&ops);
}

static void goes_round(void **state)
{
    (void)state;
    struct wp_blockops ops;
    assert_int_equal(wp_blockops_init(&ops), 0);
    uint64_t first = happen(&ops, 1), last = 0, n = 2;
    for (; n <= LIMIT; n++)
        last = happen(&ops, n);
    is_op(wp_blockops_at(&ops, first), 1);
    for (; n <= LIMIT + 300; n++)
        last = happen(&ops, n);
    assert_null(wp_blockops_at(&ops, first));
    is_op(wp_blockops_at(&ops, last), n - 1);
    is_op(wp_blockops_last_of(&ops, THREAD, (n - 100) * 10 + 9), n - 100);
    wp_blockops_fini(&ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(grows), cmocka_unit_test(goes_round)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
