/* SPDX-License-Identifier: Apache-2.0 */
/* Work that nobody waited for: who started what, from the report of it. */
#include "reporter/waits/detached_work.h"

#include "reporter/load/facts_read.h"
#include "tests/reporter/sample.h"
#include "tests/reporter/sample_fleet.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define MS 1000000u

static void work_that_nobody_waited_for_is_a_report(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_pool pool = {0};
    assert_int_equal(wp_facts_build(&facts, "v1", "main", sample_report(), NULL, NULL), 0);
    struct wp_detached_work work = wp_detached_work_build(&pool, &facts);
    assert_int_equal(facts.detached->total_ns, facts.detached_ns);
    assert_int_equal(work.row_count, 2);
    assert_string_equal(work.rows[0].starter, "make");
    assert_string_equal(work.rows[0].how, "message");
    assert_string_equal(work.rows[0].worker, "logger");
    assert_string_equal(work.rows[0].mostly, "format_line");
    assert_int_equal(work.rows[0].ns, 13 * MS);
    assert_int_equal(work.rows[0].running_ns, 9 * MS);
    assert_int_equal(work.rows[0].count, 7);
    assert_string_equal(work.rows[1].how, "new thread");
    assert_string_equal(
        work.stacks[1].text, "[make] › starts:message › [logger] › main › vfs_write › sleep:write › io:vda");
    assert_int_equal(work.stacks[1].category, WP_BLOCKING_IO);
    assert_int_equal(facts.detached->finding_count, 0);
    wp_pool_fini(&pool);
    wp_facts_fini(&facts);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", sample_shard_report(0), NULL, NULL), 0);
    assert_null(facts.detached); /* and none is made up */
    wp_facts_fini(&facts);
}

/* Where no worker is known, too, whatever order the cells have. */
static void the_largest_cell_says_what_it_mostly_was(void **state)
{
    static const char *const stacks[] = {"[make];starts:message;a_first@make", "[make];starts:message;z_last@make"};
    (void)state;
    for (unsigned large = 0; large < 2; large++) {
        struct wp_facts facts;
        struct wp_pool pool = {0};
        struct wp_report *report = sample_report(), *work = wp_report_detached_add(report);
        for (unsigned i = 0; i < 2; i++)
            wp_report_add(
                work, sample_node(work, stacks[i]), WP_UNDERSTOOD_FUNCTIONS, i == large ? 100 * MS : 30 * MS, 1);
        wp_report_detached(report, 130 * MS);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        struct wp_detached_work sums = wp_detached_work_build(&pool, &facts);
        assert_string_equal(sums.rows[0].worker, "?");
        assert_int_equal(sums.rows[0].ns, 130 * MS);
        assert_string_equal(sums.rows[0].mostly, large ? "z_last" : "a_first");
        wp_pool_fini(&pool);
        wp_facts_fini(&facts);
    }
}

/* Whom the process of interest started has started others: the way stands apart from who worked. */
static void who_is_between_is_named(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_pool pool = {0};
    struct wp_report *report = sample_report(), *work = wp_report_detached_add(report);
    wp_report_add(work, sample_node(work, "[sh];starts:fork;[nohup];starts:message;[sh];starts:waking;[job];main@job"),
        WP_UNDERSTOOD_FUNCTIONS, 100 * MS, 1);
    wp_report_add(work, sample_node(work, "[sh];starts:fork;[nohup];main@nohup"), WP_UNDERSTOOD_FUNCTIONS, 90 * MS, 1);
    wp_report_detached(report, 190 * MS);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    struct wp_detached_work sums = wp_detached_work_build(&pool, &facts);
    assert_string_equal(sums.rows[0].starter, "sh");
    assert_string_equal(sums.rows[0].through, "nohup › sh");
    assert_string_equal(sums.rows[0].direct, "sh");
    assert_string_equal(sums.rows[0].how, "waking");
    assert_string_equal(sums.rows[0].worker, "job");
    assert_string_equal(sums.rows[1].through, "");
    assert_string_equal(sums.rows[1].direct, "sh");
    assert_string_equal(sums.rows[1].how, "fork");
    assert_string_equal(sums.rows[1].worker, "nohup");
    wp_pool_fini(&pool);
    wp_facts_fini(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(work_that_nobody_waited_for_is_a_report),
        cmocka_unit_test(the_largest_cell_says_what_it_mostly_was), cmocka_unit_test(who_is_between_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
