/* SPDX-License-Identifier: Apache-2.0 */
/* Whose pages a recording makes itself, and how long a reader's job is kept. */
#include "cli/view/busiest.h"
#include "cli/view/view_jobs.h"
#include "common/clock.h"
#include "common/path.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int setup(void **state)
{
    static char folder[] = "/tmp/wp-view-jobs-XXXXXX";
    *state = folder;
    return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void **state)
{
    wp_path_remove(*state, NULL);
    memcpy((char *)*state + strlen(*state) - 6, "XXXXXX", 6);
    return 0;
}

static void a_pid_has_one_page(void **state)
{
    static const char text[] = "{\"total_ns\": 4000000000, \"processes\": ["
                               "{\"pid\": 1, \"comm\": \"make\", \"total_ns\": 4000000000},"
                               "{\"pid\": 7, \"comm\": \"sh\", \"total_ns\": 300000000},"
                               "{\"pid\": 8, \"comm\": \"as\", \"total_ns\": 500000000},"
                               "{\"pid\": 7, \"comm\": \"cc1\", \"total_ns\": 900000000},"
                               "{\"pid\": 7, \"comm\": \"true\", \"total_ns\": 200000000},"
                               "{\"pid\": 9, \"comm\": \"ld\", \"total_ns\": 100000000},"
                               "{\"pid\": 5, \"comm\": \"ar\", \"total_ns\": 50000000}]}";
    static const struct wp_own_page wanted[] = {
        {.id = 7, .name = "cc1"}, {.id = 8, .name = "as"}, {.id = 9, .name = "ld"}, {.id = 5, .name = "ar"}};
    struct wp_own_page pages[WP_BUSIEST];
    unsigned count;
    char path[64];
    snprintf(path, sizeof(path), "%s/summary.json", (const char *)*state);
    assert_int_equal(wp_file_write_cached(path, text, sizeof(text) - 1, NULL), 0);
    assert_int_equal(wp_busiest_choose(path, 1, pages, &count, NULL), 0);
    assert_int_equal(count, 4);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(pages[i].id, wanted[i].id);
        assert_string_equal(pages[i].name, wanted[i].name);
    }
}

static void ask(struct wp_view_jobs *jobs, const char *page)
{
    struct wp_view_answer answer = {0};
    wp_view_jobs_answer(jobs, page, "", "", &answer);
    wp_buffer_fini(&answer.html);
}

/* A browser lets a hidden tab ask once a minute. */
static void what_runs_is_not_given_up_for_a_hidden_tab(void **state)
{
    sigset_t mask;
    struct wp_view_jobs jobs = {
        .options = {.capture = "/nonexistent.capture", .folder = *state, .out = *state, .mask = &mask},
        .own = {.child = WP_CHILD_NONE}};
    sigemptyset(&mask);
    ask(&jobs, "pid-7");
    ask(&jobs, "pid-8");
    uint64_t now = wp_clock_ns();
    wp_view_jobs_round(&jobs, now);
    assert_int_equal(jobs.jobs[0].state, WP_VIEW_RUNS);
    assert_int_equal(jobs.jobs[1].state, WP_VIEW_WAITS);
    wp_view_jobs_round(&jobs, now + 60 * WP_NS_PER_S);
    assert_int_equal(jobs.jobs[0].state, WP_VIEW_RUNS);
    assert_int_equal(jobs.jobs[1].state, WP_VIEW_NONE);
    wp_view_jobs_round(&jobs, now + 1801 * WP_NS_PER_S);
    assert_int_equal(jobs.jobs[0].state, WP_VIEW_FAILED);
    assert_string_equal(jobs.jobs[0].reason, "it took longer than 30 minutes");
    assert_null(jobs.running);
    wp_view_jobs_end(&jobs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(a_pid_has_one_page, setup, teardown),
        cmocka_unit_test_setup_teardown(what_runs_is_not_given_up_for_a_hidden_tab, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
