/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores and other words that threads wait on: what one of them has meanwhile, and what is an event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "reporter/findings/findings.h"
#include "reporter/load/facts_read.h"
#include "storage/report/report.h"
#include "tests/reporter/sample.h"

#define MS 1000000u
#define WAKINGS 10u
#define NAP "usleep@libc.so.6;sleep:clock_nanosleep"
#define PLAY "[app];play;sem_wait@libc.so.6;sleep:futex turn (app)"

static const struct {
    const char *stack, *key, *words; /* of the first finding's pattern, "" none; of its sentence */
} rows[] = {
    /* std::latch, std::atomic<>::wait */
    {"[app];main;await_latch;sleep:futex l (app);[app];worker;decode;" NAP, "",
        "app waits in `await_latch` for another of its threads, which sleeps on purpose for 90.0 ms (100 %) in "
        "`decode`"},
    {"[app];main;await_all;std::__atomic_wait_address_bare@app;syscall@libc.so.6;sleep:futex l (app);"
     "[app];worker;decode;" NAP,
        "", "which sleeps on purpose for 90.0 ms (100 %) in `decode`"},
    {"[app];main;await_ready;__new_sem_wait_slow64@libc.so.6;sleep:futex ready (app);[app];loader;load;" NAP, "",
        "app waits in `await_ready` for another of its threads, which sleeps on purpose for 90.0 ms (100 %) in `load`"},
    {"[app];main;sync_wait;std::counting_semaphore<1l>::acquire@app;syscall@libc.so.6;sleep:futex fin (app);"
     "[app];run_loop;nap;" NAP,
        "", "which sleeps on purpose for 90.0 ms (100 %) in `nap`"},
    {"[app];worker;upload;std::counting_semaphore<4l>::acquire@app;syscall@libc.so.6;sleep:futex slots (app);"
     "[app];worker;upload;put;" NAP,
        "pool_too_small", "for `slots` in `upload`"},
    {"[app];worker;take;sem_wait@libc.so.6;sleep:futex slots (app);[app];worker;put;" NAP, "pool_too_small",
        "for `slots` in `take`"},
    /* Without a stack it is not known to be none. */
    {"[app];sleep:futex table (app);[app];put;" NAP, "lock_held_across_io", "for `table`"},
};

static void an_event_is_not_held(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        wp_report_add(report, sample_node(report, rows[i].stack), WP_DELIBERATE_SLEEP, 90 * MS, 3);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        const char *key = facts.findings[0].pattern.key ? facts.findings[0].pattern.key : "";
        if (strcmp(key, rows[i].key) || !strstr(facts.findings[0].sentence, rows[i].words))
            fail_msg("row %zu is '%s': %s", i, key, facts.findings[0].sentence);
        wp_facts_fini(&facts);
    }
}

/* Two threads sleep on the semaphore in turn until the other one posts it, or only the first does. */
static struct wp_trace *made_window(bool is_returned)
{
    static const struct {
        enum wp_frame_style style;
        const char *name;
    } frames[] = {{WP_STYLE_PROCESS, "[app]"}, {WP_STYLE_USER, "play"}, {WP_STYLE_USER, "sem_wait"},
        {WP_STYLE_SLEEP, "sleep:futex turn (app)"}};
    struct wp_trace *trace = wp_trace_create();
    for (uint32_t thread = 0; thread < 2; thread++) {
        uint32_t node = 0;
        for (size_t at = 0; at < sizeof(frames) / sizeof(*frames); at++)
            node = wp_trace_child(
                trace, node, wp_trace_frame(trace, frames[at].style, frames[at].name, at ? "/srv/app" : ""));
        assert_int_equal(wp_trace_add_thread(trace, &(struct wp_trace_thread){.tid = thread, .is_base = 1}), 0);
        assert_int_equal(wp_trace_add_path(trace, &(struct wp_trace_path){.thread = thread, .is_base = 1}), 0);
        for (uint64_t turn = 0; turn < WAKINGS && (is_returned || !thread); turn++) {
            struct wp_trace_piece piece = {thread, node, (2 * turn + thread) * 10 * MS, 10 * MS, WP_OTHER_PATH};
            uint64_t end_ns = piece.start_ns + piece.length_ns;
            struct wp_trace_link link = {WP_LINK_WAKING, 1 - thread, thread, end_ns, end_ns};
            assert_int_equal(wp_trace_add_piece(trace, &piece), 0);
            assert_int_equal(wp_trace_add_link(trace, &link), 0);
        }
    }
    return trace;
}

/* By their functions all threads are alike; and none is. */
static void threads_of_the_window_tell(void **state)
{
    static const char *const stacks[] = {PLAY ";[app];play;think;" NAP, PLAY ";[app];serve;think;" NAP};
    (void)state;
    for (unsigned i = 0; i < 4; i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        wp_report_add(report, sample_node(report, stacks[i / 2]), WP_DELIBERATE_SLEEP, 90 * MS, 3);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, made_window(i % 2), NULL), 0);
        const char *key = facts.findings[0].pattern.key;
        assert_int_equal(key && !strcmp(key, "pool_too_small"), i % 2);
        assert_int_equal(strstr(facts.findings[0].sentence, "for `turn` in `play`") != NULL, i % 2);
        wp_facts_fini(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_event_is_not_held), cmocka_unit_test(threads_of_the_window_tell)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
