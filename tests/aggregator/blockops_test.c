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

/* However long it goes on, the ring holds what is young, and a little more; what is old is not found, there or not. */
static void holds_the_young(void **state)
{
    (void)state;
    struct wp_blockops ops;
    uint64_t number = 0;
    assert_int_equal(wp_blockops_init(&ops), 0);
    ops.keep_ns = 1000; /* a hundred */
    for (uint64_t n = 1; n < 100000; n++) {
        uint64_t before = number;
        number = happen(&ops, n);
        is_op(wp_blockops_at(&ops, number), n);
        if (before)
            is_op(wp_blockops_at(&ops, before), n - 1);
        is_op(wp_blockops_last_of(&ops, THREAD, n * 10 + 9), n);
        if (n > 200)
            is_op(wp_blockops_last_of(&ops, THREAD, (n - 99) * 10 + 9), n - 99);
        assert_true(ops.mask < 512);
    }
    assert_null(wp_blockops_last_of(&ops, THREAD, 2000000));
    /* a burst makes it larger, in its midst */
    ops.keep_ns = 20000;
    uint64_t first = happen(&ops, 100000);
    for (uint64_t n = 100001; n < 102000; n++)
        number = happen(&ops, n);
    is_op(wp_blockops_at(&ops, first), 100000);
    is_op(wp_blockops_at(&ops, number), 101999);
    is_op(wp_blockops_last_of(&ops, THREAD, 1010009), 101000);
    wp_blockops_fini(&ops);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(grows), cmocka_unit_test(goes_round), cmocka_unit_test(holds_the_young)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
