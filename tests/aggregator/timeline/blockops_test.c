/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of block operations: what it remembers while it grows, and what it has forgotten once it went round. */
#include "aggregator/timeline/blockops.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define LIMIT 262144u
#define KEYED 4096u
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
        assert_true(ops.chunk_count <= 3); /* of 64: what is young begins in one and ends in one */
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

/* Every number there was or might be: what is found is that operation, and what is held is found. */
static void holds_what_it_says(const struct wp_blockops *ops)
{
    for (uint64_t number = 0; number <= ops->count + 2 * (uint64_t)ops->mask * WP_BLOCKOPS_CHUNK; number++) {
        const struct wp_blockop *op = wp_blockops_at(ops, number);
        assert_int_equal(op != NULL, number > ops->first && number <= ops->count);
        if (op)
            is_op(op, number);
        if (number)
            assert_true(!op || wp_blockops_number(ops, 8, number) == number);
    }
}

/* So slow that most of the ring is old when it is full, then many at once: it grows, and what is between the oldest
 * held and the room it has was never written. */
static void trickle_then_burst(void **state)
{
    (void)state;
    struct wp_blockops ops;
    uint64_t n = 1;
    assert_int_equal(wp_blockops_init(&ops), 0);
    ops.keep_ns = 200; /* twenty */
    for (unsigned round = 0; round < 6; round++) {
        for (unsigned i = 0; i < 60; i++, n++)
            happen(&ops, n);
        ops.keep_ns = 20000u << round;
        for (unsigned i = 0; i < 40u << round; i++, n++) {
            happen(&ops, n);
            holds_what_it_says(&ops);
        }
        ops.keep_ns = 200;
    }
    assert_true(ops.first > 0 && ops.count - ops.first <= (uint64_t)ops.chunk_count * WP_BLOCKOPS_CHUNK);
    wp_blockops_fini(&ops);
}

/* Keys that never come back go, once nobody is woken by them any more; one that is not done stays. */
static void forgets_keys(void **state)
{
    (void)state;
    struct wp_blockops ops;
    assert_int_equal(wp_blockops_init(&ops), 0);
    struct wp_event event = {.kind = WP_EVENT_BLOCK_ISSUE, .time_ns = 5, .b = 1000000, .d = 8};
    wp_blockops_event(&ops, &event, THREAD);
    for (uint64_t n = 1; n < 50000; n++) {
        assert_int_equal(wp_blockops_number(&ops, 8, n), 0);
        uint64_t number = happen(&ops, n);
        assert_int_equal(wp_blockops_number(&ops, 8, n), number);
        if (n > 4000)
            assert_int_equal(wp_blockops_number(&ops, 8, n - 4000), number - 4000);
        assert_true(ops.by_key.count <= KEYED + 2);
    }
    assert_int_equal(wp_blockops_number(&ops, 8, 1), 0);
    assert_int_equal(wp_blockops_number(&ops, 8, 1000000), 1);
    is_op(wp_blockops_at(&ops, 2), 1);
    wp_blockops_fini(&ops);
}

int main(void)
{
    mallopt(M_PERTURB, 0xa5); /* what was never written does not look like an operation */
    const struct CMUnitTest tests[] = {cmocka_unit_test(grows), cmocka_unit_test(goes_round),
        cmocka_unit_test(holds_the_young), cmocka_unit_test(trickle_then_burst), cmocka_unit_test(forgets_keys)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
