/* SPDX-License-Identifier: Apache-2.0 */
/* Reads of a thread: found from a moment on, as long as messages are kept, and gone with the thread. */
#include "aggregator/net/reads.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

enum { SERVER = 3, OTHER = 4, HERS = 70, HIS = 80 };

static void add(struct wp_reads *reads, uint64_t time_ns, uint32_t socket)
{
    wp_reads_add(reads, SERVER, &(struct wp_read){.time_ns = time_ns, .position = 10 * time_ns, .socket = socket});
}

static void found_from_a_moment_on(void **state)
{
    (void)state;
    struct wp_reads reads;
    struct wp_read read = {0};
    wp_reads_init(&reads);
    assert_false(wp_reads_next(&reads, SERVER, 0, &read));
    add(&reads, 10, HERS);
    add(&reads, 20, HIS);
    add(&reads, 15, HERS); /* late: left out */
    assert_true(wp_reads_next(&reads, SERVER, 10, &read));
    assert_int_equal(read.socket, HERS);
    assert_int_equal(read.position, 100);
    assert_true(wp_reads_next(&reads, SERVER, 11, &read));
    assert_int_equal(read.time_ns, 20);
    assert_false(wp_reads_next(&reads, SERVER, 21, &read));
    assert_int_equal(read.time_ns, 20);
    assert_false(wp_reads_next(&reads, OTHER, 0, &read));
    wp_reads_fini(&reads);
}

static void kept_for_a_while(void **state)
{
    (void)state;
    struct wp_reads reads;
    struct wp_read read;
    wp_reads_init(&reads);
    size_t empty = wp_reads_bytes(&reads);
    for (uint64_t i = 1; i <= 100000; i++)
        add(&reads, i * WP_NS_PER_MS, HERS);
    assert_true(wp_reads_next(&reads, SERVER, 0, &read));
    assert_true(read.time_ns > 100000 * WP_NS_PER_MS - 3 * WP_MESSAGE_HISTORY_NS);
    assert_true(wp_reads_bytes(&reads) < empty + ((size_t)2 << 20));
    wp_reads_forget(&reads, SERVER);
    assert_false(wp_reads_next(&reads, SERVER, 0, &read));
    wp_reads_forget(&reads, SERVER);
    wp_reads_fini(&reads);
    assert_int_equal(reads.rings.row_bytes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(found_from_a_moment_on), cmocka_unit_test(kept_for_a_while)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
