/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that meet at a barrier. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/load/facts_read.h"
#include "storage/report/report.h"
#include "storage/report/trace.h"
#include "tests/reporter/sample.h"

#define MS 1000000u

/* Two threads meet; one works for 90 ms of each 100, and the other one waits for it. */
static struct wp_trace *made_meetings(void)
{
    struct wp_trace *trace = wp_trace_create();
    uint32_t waits =
        sample_trace_node(trace, "[app];step;pthread_barrier_wait@libc.so.6;sleep:futex bar (app);path:[app]");
    uint32_t works = sample_trace_node(trace, "[app];step;relax");
    for (uint32_t i = 0; i < 2; i++) {
        struct wp_trace_thread thread = {.tid = 40 + i, .pid = 39, .is_base = 1, .comm = wp_trace_string(trace, "app")};
        assert_int_equal(wp_trace_add_thread(trace, &thread), 0);
        assert_int_equal(wp_trace_add_path(trace, &(struct wp_trace_path){.thread = i, .is_base = 1}), 0);
    }
    for (uint64_t i = 0; i < 10; i++) {
        uint64_t from = i * 100 * MS, met = from + 90 * MS;
        struct wp_trace_piece wait = {0, waits, from, 90 * MS, WP_OTHER_PATH};
        struct wp_trace_piece work = {1, works, from, 90 * MS, WP_UNDERSTOOD_FUNCTIONS};
        assert_int_equal(wp_trace_add_piece(trace, &wait), 0);
        assert_int_equal(wp_trace_add_piece(trace, &work), 0);
        assert_int_equal(wp_trace_add_link(trace, &(struct wp_trace_link){WP_LINK_WAKING, 1, 0, met, met}), 0);
    }
    return trace;
}

/* Who waits at a barrier has work, and the last one to come is why it does not get on: both stand first. */
static void a_barrier_waits_for_the_last(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    wp_report_add(report,
        sample_node(report, "[app];step;pthread_barrier_wait@libc.so.6;sleep:futex bar (app);path:[app]"),
        WP_OTHER_PATH, 2700 * (uint64_t)MS, 30);
    wp_report_add(report, sample_node(report, "[app];step;relax"), WP_UNDERSTOOD_FUNCTIONS, 900 * (uint64_t)MS, 10);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, made_meetings(), NULL), 0);
    assert_string_equal(facts.findings[0].sentence,
        "app waits 2.70 s (75 %) at the barrier `bar` in `step` for the last of its threads, mostly thread "
        "41; meanwhile `relax` runs.");
    wp_facts_fini(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_barrier_waits_for_the_last)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
