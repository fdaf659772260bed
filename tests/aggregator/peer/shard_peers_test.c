/* SPDX-License-Identifier: Apache-2.0 */
/* Processes that other shards tell of: each has a number of its own, whatever a peer says of them. */
#include "aggregator/peer/shard_peers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
/* cmocka wants the headers above */
#include <cmocka.h>

/* Number and start of a process share a word of the key: two of them that fill it alike are two. */
static void processes_of_one_key_are_two(void **state)
{
    struct wp_shards shards = {.strings = wp_intern_create()};
    struct wp_shard_process process = {"h", "web", 1, (uint64_t)3 << 40}, told;
    uint32_t numbers[100], count = 0;
    (void)state;
    for (uint32_t pid = 0; pid < 100; pid++) {
        process.pid = pid;
        process.start_real_ns = (uint64_t)(pid ^ 2) << 40;
        uint32_t number = wp_shards_process_number(&shards, &process);
        if (number == UINT32_MAX)
            continue; /* there is an end to how many are told apart */
        assert_true(wp_shards_process(&shards, number, &told));
        assert_int_equal(told.pid, pid);
        assert_int_equal(told.start_real_ns, process.start_real_ns);
        assert_int_equal(wp_shards_process_number(&shards, &process), number);
        numbers[count++] = number;
    }
    assert_in_range(count, 2, 99);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(numbers[i], i);
    assert_int_equal(shards.process_count, count);
    free(shards.processes);
    wp_intmap_fini(&shards.process_index);
    wp_intern_destroy(shards.strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(processes_of_one_key_are_two)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
