/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of recording: the last session of each host counts, whatever the host is called. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/recording/recording_cost.h"

static void hosts_add_up(void **state)
{
    static const struct wp_metadata_fact rows[] = {{"host.a.b.cpus", "4", "one", 2},
        {"host.a.b.recorder.cpu_ns", "600", "one", 2}, {"host.a.b.recorder.cpu_ns", "5000", "one", 1},
        {"host.a.b.recorder.of_ns", "1000", "one", 2}, {"host.a.b.recorder.programs_ns", "30", "one", 2},
        {"host.c.cpus", "2", "one", 1}, {"host.c.recorder.cpu_ns", "200", "one", 1},
        {"host.c.recorder.of_ns", "2000", "one", 1}, {"host.d.cpus", "64", "one", 1}};
    struct wp_recording_cost cost = wp_recording_cost(&(struct wp_metadata){rows, sizeof(rows) / sizeof(rows[0])});
    (void)state;
    assert_int_equal(cost.cpu_ns, 800);
    assert_int_equal(cost.machine_ns, 8000);
    assert_int_equal(cost.programs_ns, 30);
    assert_true(wp_recording_cost_percent(&cost) == 10.0);
    cost = wp_recording_cost(&(struct wp_metadata){rows, 0});
    assert_int_equal(cost.cpu_ns, 0);
    assert_true(wp_recording_cost_percent(&cost) == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(hosts_add_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
