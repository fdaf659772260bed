/* SPDX-License-Identifier: Apache-2.0 */
/* What the total is of, what stands beside it, and threads that stand under their process. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "reporter/export/format_json.h"
#include "reporter/facts/beside.h"
#include "reporter/load/facts_read.h"
#include "storage/report/report.h"

#define MS 1000000u

/* java waits 70 ms for a thread of its pool, and runs for 30. */
static struct wp_report *java(void)
{
    struct wp_report *report = wp_report_create();
    uint32_t main = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_PROCESS, "[java]", ""));
    uint32_t sleep = wp_report_child(report, main, wp_report_frame(report, WP_STYLE_SLEEP, "sleep:futex", ""));
    uint32_t pool =
        wp_report_child(report, sleep, wp_report_frame(report, WP_STYLE_PROCESS, "[pool-1-thread-1]", "java"));
    uint32_t crunch = wp_report_child(report, pool, wp_report_frame(report, WP_STYLE_USER, "crunch", "/tmp/x"));
    wp_report_add(report, main, WP_RUNNING_NOT_SAMPLED, 30 * MS, 1);
    wp_report_add(report, crunch, WP_UNDERSTOOD_FUNCTIONS, 70 * MS, 1);
    wp_report_activity(report, 1000 * MS, 1100 * MS);
    return report;
}

static void build(struct wp_facts *facts, struct wp_report *report)
{
    assert_int_equal(wp_facts_build(facts, "v1", "main", report, NULL, NULL), 0);
}

static void progress(void **state)
{
    struct wp_report *report = java();
    struct wp_facts facts;
    struct wp_buffer json = {0};
    (void)state;
    wp_report_limit(report, WP_REPORT_PROGRESS, 3, 0);
    wp_report_limit(report, WP_REPORT_IDLE "java > GC Thread#*", 7, 400 * MS);
    wp_report_limit(report, WP_REPORT_UNWAITED "java > C* CompilerThre", 2, 20 * MS);
    wp_report_limit(report, WP_REPORT_IDLE "java > C* CompilerThre", 2, 5 * MS);
    wp_report_limit(report, "depth", 1, MS);
    build(&facts, report);
    assert_int_equal(facts.limit_count, 1);
    assert_int_equal(facts.beside_count, 2);
    assert_string_equal(facts.beside[0].who, "java > C* CompilerThre");
    assert_int_equal(facts.beside[0].idle_ns, 5 * MS);
    assert_int_equal(facts.idle_ns, 405 * MS);
    assert_int_equal(facts.unwaited_ns, 20 * MS);
    assert_int_equal(facts.total_ns, 100 * MS); /* of which the percentages are */
    assert_string_equal(wp_beside_base(&facts), "progress of the main thread");
    assert_string_equal(wp_beside_sentence(&facts.pool, &facts),
        "Beside the total, all threads together: other threads worked for "
        "20.0 ms that the main thread did not wait for; its idle workers had nothing to do for 405 ms.");
    assert_string_equal(facts.findings[0].sentence,
        "java spends 70 % of its time (70.0 ms) waiting for its thread pool-1-thread-1, which runs its own code, first "
        "of all in crunch.");
    assert_int_equal(wp_format_json(&json, &facts, NULL), 0);
    assert_non_null(strstr((char *)json.data, "\"base\": \"progress\""));
    assert_non_null(strstr((char *)json.data, "\"idle_ns\": 405000000"));
    wp_buffer_fini(&json);
    wp_facts_fini(&facts);
}

/* A main thread that only waits: what its threads did says more. */
static void threads_that_do_more(void **state)
{
    struct wp_report *report = java();
    struct wp_facts facts;
    (void)state;
    wp_report_limit(report, WP_REPORT_PROGRESS, 1, 0);
    wp_report_limit(report, WP_REPORT_UNWAITED "java > pool-*-thread-*", 9, 900 * MS);
    build(&facts, report);
    assert_non_null(strstr(wp_beside_sentence(&facts.pool, &facts), "the view by threads tells more here."));
    wp_facts_fini(&facts);
}

static void other_views(void **state)
{
    struct wp_report *report = java();
    struct wp_facts facts;
    (void)state;
    wp_report_limit(report, WP_REPORT_IDLE "java", 1, 5 * MS);
    build(&facts, report);
    assert_string_equal(wp_beside_word(&facts), "busy");
    wp_facts_fini(&facts);
    build(&facts, java());
    assert_string_equal(wp_beside_word(&facts), "threads");
    assert_null(wp_beside_sentence(&facts.pool, &facts));
    wp_facts_fini(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(progress), cmocka_unit_test(threads_that_do_more), cmocka_unit_test(other_views)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
