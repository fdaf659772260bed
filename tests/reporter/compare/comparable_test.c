/* SPDX-License-Identifier: Apache-2.0 */
/* Names that are the same on both sides of a comparison. */
#include "reporter/compare/comparable.h"

#include "storage/report/report.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static struct wp_report *report_of(const char *process)
{
    struct wp_report *report = wp_report_create();
    wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_PROCESS, process, ""));
    return report;
}

static void a_path_keeps_its_numbers(void **state)
{
    struct wp_report *before = report_of("[pool-1]"), *after = report_of("[pool-2]");
    struct wp_intern *roles = wp_comparable_roles(before, after);
    char room[WP_ROLE_BYTES];
    (void)state;
    assert_non_null(roles);
    assert_string_equal(wp_comparable_frame(room, "[pool-1]", WP_STYLE_PROCESS, roles), "[pool-*]");
    assert_string_equal(wp_comparable_frame(room, "path:[pool-1]", WP_STYLE_WAIT, roles), "path:[pool-*]");
    assert_string_equal(
        wp_comparable_frame(room, "lock [slot-7] at:[pool-1]", WP_STYLE_WAIT, roles), "lock [slot-7] at:[pool-*]");
    wp_intern_destroy(roles);
    wp_report_destroy(before);
    wp_report_destroy(after);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_path_keeps_its_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
