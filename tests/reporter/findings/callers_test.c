/* SPDX-License-Identifier: Apache-2.0 */
/* Who calls the function that a finding is told by: of its sleeps only those that come from there are counted. */
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
#define FLUSH "[app];write_all@app;flush@app;nap@app;sleep:clock_nanosleep"
#define BUMP "[app];serve@app;bump@app;nap@app;sleep:clock_nanosleep"

/* One thread sleeps from `flush`, three from `bump`. */
static struct wp_trace *made_naps(const char *flush)
{
    struct wp_trace *trace = wp_trace_create();
    uint32_t nodes[] = {sample_trace_node(trace, flush), sample_trace_node(trace, BUMP)};
    for (uint32_t i = 0; i < 4; i++) {
        struct wp_trace_piece piece = {i, nodes[i != 0], 0, 1, WP_DELIBERATE_SLEEP};
        assert_int_equal(wp_trace_add_path(trace, &(struct wp_trace_path){.thread = 0, .is_base = 1}), 0);
        assert_int_equal(wp_trace_add_piece(trace, &piece), 0);
    }
    return trace;
}

/* Threads and sleeps of a helper are told with who calls it most, and its alone; where nobody has most of it, all are.
 */
static void the_callers_own_are_counted(void **state)
{
    static const struct {
        uint64_t bump_ms;
        const char *words;
    } cases[] = {
        {300, "sleeps on purpose for 4.00 s (93.0 %) in `nap`, called from `flush`, 200 times, 20.0 ms on average. "},
        {3000, "sleeps on purpose for 7.00 s (100 %) in `nap`, in 4 threads, 500 times, 14.0 ms on average. "}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        wp_report_add(report, sample_node(report, FLUSH), WP_DELIBERATE_SLEEP, 4000 * (uint64_t)MS, 200);
        wp_report_add(report, sample_node(report, BUMP), WP_DELIBERATE_SLEEP, cases[i].bump_ms * MS, 300);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, made_naps(FLUSH), NULL), 0);
        if (!strstr(facts.findings[0].sentence, cases[i].words))
            fail_msg("case %zu says: %s", i, facts.findings[0].sentence);
        assert_int_equal(facts.findings[0].threads, i ? 4 : 1);
        wp_facts_fini(&facts);
    }
}

/* Threads of another name that sleep at the same place are not its. */
static void a_threads_own_are_counted(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    wp_report_add(report, sample_node(report, "[rotator]@app;serve@app;nap@app;sleep:clock_nanosleep"),
        WP_DELIBERATE_SLEEP, 2000 * (uint64_t)MS, 20);
    struct wp_trace *trace = wp_trace_create();
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t node = sample_trace_node(trace,
            i ? "[server]@app;serve@app;nap@app;sleep:clock_nanosleep"
              : "[rotator]@app;serve@app;nap@app;sleep:clock_nanosleep");
        struct wp_trace_piece piece = {i, node, 0, 1, WP_DELIBERATE_SLEEP};
        assert_int_equal(wp_trace_add_path(trace, &(struct wp_trace_path){.thread = 0, .is_base = 1}), 0);
        assert_int_equal(wp_trace_add_piece(trace, &piece), 0);
    }
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, trace, NULL), 0);
    assert_null(strstr(facts.findings[0].sentence, "threads"));
    wp_facts_fini(&facts);
}

#define HELPERS 3u

static const struct {
    struct {
        const char *stack;
        enum wp_category category;
        uint64_t ms;
    } cells[HELPERS];
    const char *words;
} runs[] = {
    /* The helpers of helpers are passed by, where the program begins is no caller, */
    {{{"[app];main;loop;handle_export;spin;now", WP_UNDERSTOOD_FUNCTIONS, 90},
         {"[app];main;loop;handle_get;spin;now", WP_UNDERSTOOD_FUNCTIONS, 10},
         {"[app];main;over;now", WP_UNDERSTOOD_FUNCTIONS, 5}},
        "first of all in now, called from `handle_export`."},
    {{{"[app];main;spin", WP_UNDERSTOOD_FUNCTIONS, 90}}, "first of all in spin."},
    /* ... nor is where a thread does, but for a helper; and half of it is not for anybody. */
    {{{"[app];run_thread;compute", WP_UNDERSTOOD_FUNCTIONS, 90}}, "first of all in compute."},
    {{{"[app];run_thread;compute", WP_UNDERSTOOD_FUNCTIONS, 90}, {"[app];other;compute", WP_UNDERSTOOD_FUNCTIONS, 9}},
        "first of all in compute, called from `run_thread`."},
    {{{"[app];main;a;spin", WP_UNDERSTOOD_FUNCTIONS, 50}, {"[app];main;b;spin", WP_UNDERSTOOD_FUNCTIONS, 50}},
        "first of all in spin."},
    /* What an engine of scripts calls has no file. */
    {{{"[node];serve@/srv/a.js;rank@/srv/a.js;sort;<anonymous>@/srv/a.js", WP_UNDERSTOOD_FUNCTIONS, 90}},
        "first of all in <anonymous>, called from `rank`."},
    /* A holder's, by the stacks of who waits for it, or where these do not say it. */
    {{{"[app];main;put;pthread_mutex_lock@libc.so.6;sleep:futex table (app);[app];worker;rotate;compress;spin",
          WP_UNDERSTOOD_FUNCTIONS, 90},
         {"[app];main;serve;spin", WP_UNDERSTOOD_FUNCTIONS, 50}},
        "it is held while `spin`, called from `compress`, runs."},
    {{{"[ruby];reset@client.rb;gvl_acquire@libruby-3.1.so;rb_native_cond_wait@libruby-3.1.so;"
       "pthread_cond_wait@libc.so.6;sleep:futex;path:[hog]",
          WP_OTHER_PATH, 90},
         {"[hog];serve@hog.ru;score@hog.ru;norm@hog.ru", WP_UNDERSTOOD_FUNCTIONS, 40}},
        "it is held while `norm`, called from `score`, runs."},
};

static void who_runs_says_for_whom(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        for (size_t cell = 0; cell < HELPERS && runs[i].cells[cell].stack; cell++)
            wp_report_add(report, sample_node(report, runs[i].cells[cell].stack), runs[i].cells[cell].category,
                runs[i].cells[cell].ms * MS, 30);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        if (!strstr(facts.findings[0].sentence, runs[i].words))
            fail_msg("%zu: %s", i, facts.findings[0].sentence);
        wp_facts_fini(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_callers_own_are_counted),
        cmocka_unit_test(a_threads_own_are_counted), cmocka_unit_test(who_runs_says_for_whom)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
