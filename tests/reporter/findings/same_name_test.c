/* SPDX-License-Identifier: Apache-2.0 */
/* Another process that is called as the one of interest is none of its threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "reporter/load/facts_read.h"
#include "storage/report/report.h"
#include "storage/report/trace.h"
#include "tests/reporter/sample.h"

#define MS 1000000u

/* Process 71 has two threads, and the control path of the first is of interest; 72 is a child of it. */
static struct wp_trace *made_window(void)
{
    struct wp_trace *trace = wp_trace_create();
    uint32_t name = wp_trace_string(trace, "python3"), host = wp_trace_string(trace, "h");
    const uint32_t ids[][2] = {{71, 71}, {71, 73}, {72, 72}};
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(wp_trace_add_thread(trace,
                             &(struct wp_trace_thread){
                                 .host = host, .comm = name, .pid = ids[i][0], .tid = ids[i][1], .is_base = !i}),
            0);
    assert_int_equal(wp_trace_add_path(trace, &(struct wp_trace_path){.thread = 0, .is_base = 1}), 0);
    return trace;
}

static void who_runs_most_is_told(void **state)
{
    static const struct {
        uint64_t own_ms, child_ms;
        const char *words;
    } rows[] = {{30, 400, "waiting for another python3, which runs its own code, first of all in score"},
        {430, 0, "waiting for another of its threads, which runs its own code, first of all in score"}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        wp_report_add(report, sample_node(report, "[python3];main;get;sleep:futex;[python3];work;score"),
            WP_UNDERSTOOD_FUNCTIONS, 400 * MS, 30);
        wp_report_add(report, sample_node(report, "[python3];main"), WP_UNDERSTOOD_FUNCTIONS, 30 * MS, 30);
        wp_report_process_add(report, wp_report_process(report, "h", "python3", 71, 1), 430 * MS, rows[i].own_ms * MS);
        wp_report_process_add(
            report, wp_report_process(report, "h", "python3", 72, 2), 400 * MS, rows[i].child_ms * MS);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, made_window(), NULL), 0);
        if (!strstr(facts.findings[0].sentence, rows[i].words))
            fail_msg("%zu: %s", i, facts.findings[0].sentence);
        wp_facts_fini(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(who_runs_most_is_told)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
