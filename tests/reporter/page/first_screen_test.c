/* SPDX-License-Identifier: Apache-2.0 */
/* What a reader sees first: the title, the critical path, functions in their order, words that are explained, moments.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "reporter/code/calls.h"
#include "reporter/display/glossary.h"
#include "reporter/html/format_html.h"
#include "reporter/html/html_parts.h"
#include "reporter/load/facts_read.h"
#include "reporter/page/page.h"
#include "reporter/page/page_calls.h"
#include "reporter/recording/recorded_title.h"
#include "reporter/requests/critical_path.h"
#include "storage/value/recorded_keys.h"
#include "storage/report/report.h"
#include "storage/report/trace.h"
#include "storage/value/category.h"
#include "tests/reporter/sample.h"

#define MS 1000000u

/* A path of a second: compilers run for its first half, then make waits for a disk; another path has more pieces. */
static struct wp_trace *made_trace(void)
{
    struct wp_trace *trace = wp_trace_create();
    struct wp_trace_thread thread = {wp_trace_string(trace, "vm"), wp_trace_string(trace, "make"), 1, 1, 1, 0, 0};
    uint32_t make = wp_trace_child(trace, 0, wp_trace_frame(trace, WP_STYLE_PROCESS, "[make]", ""));
    uint32_t sleep = wp_trace_child(trace, make, wp_trace_frame(trace, WP_STYLE_SLEEP, "sleep:wait4", ""));
    uint32_t cc1 = wp_trace_child(trace, sleep, wp_trace_frame(trace, WP_STYLE_PROCESS, "[cc1]", ""));
    wp_trace_add_thread(trace, &thread);
    wp_trace_add_path(trace, &(struct wp_trace_path){0, 1});
    wp_trace_add_path(trace, &(struct wp_trace_path){0, 1});
    trace->length_ns = 1000 * MS;
    for (uint32_t i = 0; i < 50; i++)
        wp_trace_add_piece(trace,
            &(struct wp_trace_piece){
                1, cc1, i * 10u * MS, 10 * MS, i % 2 ? WP_RUNNING_NOT_SAMPLED : WP_UNDERSTOOD_FUNCTIONS});
    wp_trace_add_piece(trace, &(struct wp_trace_piece){1, make, 500 * MS, 500 * MS, WP_BLOCKING_IO});
    wp_trace_add_piece(trace, &(struct wp_trace_piece){0, make, 0, 900 * MS, WP_KERNEL_BLOCK});
    return trace;
}

static void the_critical_path_is_cut_into_parts(void **state)
{
    struct wp_facts facts;
    struct wp_critical_path path;
    (void)state;
    assert_int_equal(wp_facts_build(&facts, "v1", "main", sample_report(), made_trace(), NULL), 0);
    wp_critical_path_build(&path, &facts.pool, &facts);
    assert_false(facts.pool.failed);
    assert_string_equal(path.thread, "make");
    assert_int_equal(path.length_ns, 1000 * MS);
    assert_int_equal(path.count, 51);
    uint64_t at = 0;
    for (uint32_t i = 0; i < path.count; i++) {
        assert_int_equal(path.parts[i].start_ns, at);
        assert_string_equal(path.parts[i].process, i < 50 ? "cc1" : "make");
        at += path.parts[i].length_ns;
    }
    assert_int_equal(at, path.length_ns);
    assert_int_equal(path.parts[50].category, WP_BLOCKING_IO);
    wp_facts_fini(&facts);
}

/* Nothing of it trusts the window: pieces beyond its end, paths that are not there. */
static void a_damaged_window_is_no_harm(void **state)
{
    struct wp_facts facts;
    struct wp_critical_path path;
    struct wp_trace *trace = made_trace();
    (void)state;
    wp_trace_add_piece(trace, &(struct wp_trace_piece){1, 1, UINT64_MAX - 5, UINT64_MAX, WP_BLOCKING_IO});
    wp_trace_add_piece(trace, &(struct wp_trace_piece){7, 1, 0, 5, WP_BLOCKING_IO});
    trace->length_ns = 1;
    assert_int_equal(wp_facts_build(&facts, "v1", "main", sample_report(), trace, NULL), 0);
    wp_critical_path_build(&path, &facts.pool, &facts);
    assert_true(path.count <= 1);
    wp_facts_fini(&facts);
}

static void add(struct wp_report *report, const char *stack, enum wp_category category, uint64_t ms)
{
    wp_report_add(report, sample_node(report, stack), category, ms * MS, 1);
}

static const char *page_of(struct wp_facts *facts, enum wp_page_kind kind, struct wp_buffer *html)
{
    struct wp_display display;
    wp_display_init(&display, &(struct wp_page_id){kind, "v1", facts->aggregate});
    assert_int_equal(wp_page_build(&display, facts, NULL), 0);
    assert_int_equal(wp_format_html(html, &display, NULL), 0);
    wp_buffer_putc(html, 0);
    wp_display_fini(&display);
    return (const char *)html->data;
}

/* Time in the kernel, the C library and interpreters is that of the program's function that called them. */
static void a_programs_own_functions_lead(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    struct wp_buffer html = {0};
    (void)state;
    add(report, "[app];_start@app;__libc_start_main@libc.so.6;main@app;load@app;read@libc.so.6;k:__schedule;sleep:read",
        WP_BLOCKING_IO, 70);
    add(report, "[app];_start@app;__libc_start_main@libc.so.6;main@app;work@app", WP_UNDERSTOOD_FUNCTIONS, 20);
    add(report, "[app];_start@app;__libc_start_main@libc.so.6;exit@libc.so.6", WP_UNDERSTOOD_FUNCTIONS, 90);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    const char *page = page_of(&facts, WP_PAGE_FUNCTIONS, &html);
    const char *rows = strstr(page, "<tbody>"), *load = strstr(rows, ">load<"), *work = strstr(rows, ">work<");
    assert_true(load && work && load < work);
    for (size_t i = 0; i < 3; i++) {
        static const char *const others[] = {">__libc_start_main<", ">main<", ">exit<"};
        assert_true(strstr(rows, others[i]) > work);
    }
    wp_buffer_fini(&html);
    wp_facts_fini(&facts);
}

/* A page that is built by itself has the same above it as all others. */
static void assert_callers_have_the_title(const struct wp_facts *facts, const char *title)
{
    struct wp_calls calls;
    struct wp_display display;
    assert_int_equal(wp_calls_build(&calls, facts, NULL), 0);
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_FUNCTION, facts->release, facts->aggregate});
    assert_int_equal(wp_page_function(&display, facts, &calls, 1, NULL), 0);
    assert_non_null(display.subject);
    assert_string_equal(display.subject, title);
    wp_display_fini(&display);
    wp_calls_fini(&calls);
}

static void a_title_says_what_was_recorded(void **state)
{
    static const struct wp_metadata_fact rows[] = {{"host.builder.cpus", "2", "local", 1},
        {WP_RECORDED_COMMAND, "/usr/bin/make -j2 'all of it'", "local", 1}, {WP_RECORDED_LOAD, "3.1", "local", 1}},
                                         picked[] = {{"bucket.selector", "pid=4100", "local", 1},
                                             {"bucket.selector", "pid=4100+4101", "local", 1}};
    struct wp_facts facts;
    struct wp_buffer html = {0};
    (void)state;
    assert_int_equal(wp_facts_build(&facts, "v1", "main", sample_report(), made_trace(), NULL), 0);
    assert_string_equal(wp_recorded_title(&facts.pool, &facts), "main");
    facts.metadata = (struct wp_metadata){&picked[0], 1};
    assert_string_equal(wp_recorded_title(&facts.pool, &facts), "make (pid 4100)");
    facts.metadata = (struct wp_metadata){&picked[1], 1};
    assert_string_equal(wp_recorded_title(&facts.pool, &facts), "main");
    facts.is_command = true;
    assert_string_equal(wp_recorded_title(&facts.pool, &facts), "make");
    facts.release_metadata = (struct wp_metadata){rows, 3};
    assert_string_equal(wp_recorded_title(&facts.pool, &facts), "make -j2 'all of it'");
    assert_non_null(
        strstr(wp_recorded_subtitle(&facts.pool, &facts), " UTC on builder (2 CPUs, load 3.1), release v1"));
    const char *page = page_of(&facts, WP_PAGE_OVERVIEW, &html);
    assert_non_null(strstr(page, "<title>make -j2 &#39;all of it&#39; · Wakepath</title>"));
    assert_non_null(strstr(page, "class=\"strip\""));
    assert_non_null(strstr(page, "<time datetime=\"2026-"));
    assert_callers_have_the_title(&facts, "make -j2 'all of it'");
    facts.aggregate = "main.threads";
    assert_string_equal(wp_recorded_title(&facts.pool, &facts), "make -j2 'all of it', by threads");
    wp_buffer_fini(&html);
    wp_facts_fini(&facts);
}

static void words_are_explained(void **state)
{
    size_t count;
    const struct wp_term *terms = wp_glossary(&count);
    struct wp_facts facts;
    struct wp_buffer html = {0};
    (void)state;
    for (int i = 0; i < WP_CATEGORIES; i++) {
        const struct wp_term *term = wp_glossary_find(wp_category_title((enum wp_category)i));
        assert_non_null(term);
        assert_string_equal(term->key, wp_category_key((enum wp_category)i));
    }
    assert_int_equal(wp_facts_build(&facts, "v1", "main", sample_report(), NULL, NULL), 0);
    const char *page = page_of(&facts, WP_PAGE_ABOUT, &html);
    for (size_t i = 0; i < count; i++) {
        char anchor[80];
        snprintf(anchor, sizeof(anchor), "id=\"term-%s\"", terms[i].key);
        assert_non_null(strstr(page, anchor));
    }
    html.size = 0;
    page = page_of(&facts, WP_PAGE_OVERVIEW, &html);
    assert_non_null(
        strstr(page, "href=\"about.html#term-blocking_io\" title=\"A request of it is at a block device\""));
    assert_non_null(strstr(page, "href=\"about.html#term-wall\""));
    wp_buffer_fini(&html);
    wp_facts_fini(&facts);
}

static void moments_are_marked(void **state)
{
    struct wp_buffer out = {0};
    (void)state;
    wp_html_text(&out, "a <b> 2026-11-22 20:54:25 UTC, 2026-11-22 20:54:2x UTC UTC 1-11-22 20:54:25 UTC");
    wp_buffer_putc(&out, 0);
    assert_string_equal((const char *)out.data,
        "a &lt;b&gt; <time datetime=\"2026-11-22T20:54:25Z\">2026-11-22 20:54:25 UTC</time>, 2026-11-22 20:54:2x UTC "
        "UTC "
        "1-11-22 20:54:25 UTC");
    wp_buffer_fini(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_critical_path_is_cut_into_parts),
        cmocka_unit_test(a_damaged_window_is_no_harm), cmocka_unit_test(a_programs_own_functions_lead),
        cmocka_unit_test(a_title_says_what_was_recorded), cmocka_unit_test(words_are_explained),
        cmocka_unit_test(moments_are_marked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
