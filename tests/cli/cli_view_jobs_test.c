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
    wp_view_jobs_answer(jobs, &(struct wp_view_request){page, "", "", ""}, &answer);
    wp_buffer_fini(&answer.html);
}

/* However its terms are ordered; the key alone names what is known, and nothing else. */
static void a_selector_has_one_page(void **state)
{
    struct wp_view_jobs jobs = {.options = {.capture = "/nonexistent.capture", .folder = *state, .out = *state},
        .own = {.child = WP_CHILD_NONE}};
    const char *const texts[] = {"comm=x,between=1-2", "between=1-2,comm=x", "comm=x", "comm=<", "between=1-2", ""};
    const unsigned wanted[] = {200, 200, 200, 200, 404, 404};
    char key[WP_OWN_NAME];
    for (unsigned i = 0; i < 6; i++) {
        struct wp_view_answer answer = {.status = 200};
        wp_view_jobs_answer(&jobs, &(struct wp_view_request){"of", "__state__", "", texts[i]}, &answer);
        wp_buffer_putc(&answer.html, 0);
        assert_int_equal(answer.status, wanted[i]);
        assert_null(strstr((const char *)answer.html.data, "comm=<"));
        wp_buffer_fini(&answer.html);
    }
    assert_string_equal(jobs.jobs[0].page.selector, "between=1-2,comm=x");
    assert_string_equal(jobs.jobs[1].page.selector, "comm=x");
    assert_int_equal(jobs.jobs[3].state, WP_VIEW_NONE);
    wp_own_page_key(&jobs.jobs[1].page, key);
    ask(&jobs, "of-0123456789abcdef");
    assert_int_equal(jobs.jobs[3].state, WP_VIEW_NONE);
    strcat(key, "/cancel");
    ask(&jobs, key);
    assert_int_equal(jobs.jobs[1].state, WP_VIEW_NONE);
    wp_view_jobs_end(&jobs);
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
        cmocka_unit_test_setup_teardown(a_selector_has_one_page, setup, teardown),
        cmocka_unit_test_setup_teardown(what_runs_is_not_given_up_for_a_hidden_tab, setup, teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
