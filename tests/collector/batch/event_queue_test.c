/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/batch/event_queue.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

static uint64_t next_random(uint64_t *random)
{
    *random = *random * 6364136223846793005u + 1442695040888963407u;
    return *random >> 33;
}

static int add(struct wp_event_queue *q, const struct wp_event *event)
{
    struct wp_event *next = wp_event_queue_next(q);
    if (!next)
        return -ENOMEM;
    *next = *event;
    wp_event_queue_added(q);
    return 0;
}

/* Against a queue that is simply sorted each time; `c` numbers events of equal times in the order they came. */
static void comes_out_in_order(void **state)
{
    (void)state;
    uint64_t random = 3, mark = 0, out = 0, last = 0;
    uint32_t number = 0, last_number = 0;
    struct wp_event_queue q = {0};
    for (int round = 0; round < 300; round++) {
        uint64_t count = next_random(&random) % 200;
        for (uint64_t i = 0; i < count; i++) {
            struct wp_event event = {.time_ns = mark + next_random(&random) % (round % 3 ? 50 : 5000), .c = number++};
            assert_int_equal(add(&q, &event), 0);
        }
        assert_int_equal(wp_event_queue_sort(&q), 0);
        mark += next_random(&random) % 60;
        size_t certain = wp_event_queue_before(&q, mark);
        for (size_t i = 0; i < certain; i++) {
            const struct wp_event *e = &q.events[i];
            assert_true(e->time_ns < mark && e->time_ns >= last);
            assert_true(e->time_ns > last || !out || e->c > last_number || e->time_ns != last);
            last = e->time_ns;
            last_number = e->c;
            out++;
        }
        assert_true(certain == q.count || q.events[certain].time_ns >= mark);
        wp_event_queue_take(&q, certain);
    }
    assert_int_equal(out + q.count, number);
    wp_event_queue_fini(&q);
}

static void equal_times_keep_their_order(void **state)
{
    (void)state;
    struct wp_event_queue q = {0};
    for (uint32_t i = 0; i < 5000; i++)
        add(&q, &(struct wp_event){.time_ns = 7 - i % 3, .c = i});
    assert_int_equal(wp_event_queue_sort(&q), 0);
    for (size_t i = 1; i < q.count; i++)
        assert_true(q.events[i - 1].time_ns < q.events[i].time_ns ||
            (q.events[i - 1].time_ns == q.events[i].time_ns && q.events[i - 1].c < q.events[i].c));
    assert_int_equal(wp_event_queue_before(&q, 0), 0);
    assert_int_equal(wp_event_queue_before(&q, UINT64_MAX), 5000);
    wp_event_queue_fini(&q);
}

static void nothing(void **state)
{
    (void)state;
    struct wp_event_queue q = {0};
    assert_int_equal(wp_event_queue_sort(&q), 0);
    assert_int_equal(wp_event_queue_before(&q, UINT64_MAX), 0);
    wp_event_queue_fini(&q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(comes_out_in_order),
        cmocka_unit_test(equal_times_keep_their_order), cmocka_unit_test(nothing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
