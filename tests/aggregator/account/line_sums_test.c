/* SPDX-License-Identifier: Apache-2.0 */
/* Time by line: what adds up, what counts once, and where a process ends. */
#include "aggregator/account/line_sums.h"
#include "storage/report/report_lines.h"
#include "storage/report/report_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

struct made {
    struct wp_pathtree tree;
    struct wp_line_sums sums;
    struct wp_report *report;
};

static void begin(struct made *made)
{
    *made = (struct made){.report = wp_report_create()};
    assert_non_null(made->report);
    assert_int_equal(wp_pathtree_init(&made->tree), 0);
}

static void end(struct made *made)
{
    assert_int_equal(wp_report_failed(made->report), 0);
    wp_line_sums_fini(&made->sums);
    wp_pathtree_fini(&made->tree);
    wp_report_destroy(made->report);
}

static uint32_t process(struct made *made, uint32_t node, const char *name)
{
    return wp_pathtree_child(&made->tree, node, wp_pathtree_frame(&made->tree, WP_STYLE_PROCESS, name, ""));
}

static uint32_t at(
    struct made *made, uint32_t node, const char *function, const char *file, uint32_t line, bool is_inlined)
{
    uint32_t frame = wp_pathtree_frame(&made->tree, WP_STYLE_USER, function, "app");
    return wp_pathtree_child(&made->tree, node, wp_pathtree_at_line(&made->tree, frame, file, line, is_inlined));
}

static uint32_t asleep(struct made *made, uint32_t node)
{
    return wp_pathtree_child(&made->tree, node, wp_pathtree_frame(&made->tree, WP_STYLE_SLEEP, "sleep:read", ""));
}

static void run(struct made *made, uint32_t node, uint64_t ns)
{
    wp_line_sums_add(&made->sums, &made->tree, node, WP_UNDERSTOOD_FUNCTIONS, ns, true);
}

static void is_line(const struct made *made, const char *file, uint32_t line, const char *function, uint64_t total,
    uint64_t runs, uint64_t self)
{
    uint32_t sites, lines;
    const struct wp_report_site *site = wp_report_sites(made->report, &sites);
    const struct wp_report_line *row = wp_report_lines(made->report, &lines);
    struct wp_report_line sum = {0};
    for (uint32_t i = 0; i < lines; i++) {
        const struct wp_report_site *s = &site[row[i].site];
        if (strcmp(wp_report_text(made->report, s->file), file) || s->line != line ||
            strcmp(wp_report_text(made->report, s->function), function))
            continue;
        sum.total_ns += row[i].total_ns;
        sum.run_ns += row[i].run_ns;
        sum.self_ns += row[i].self_ns;
    }
    assert_int_equal(sum.total_ns, total);
    assert_int_equal(sum.run_ns, runs);
    assert_int_equal(sum.self_ns, self);
}

/* {caller, line, callee, inlined} -> total and run. */
static void is_call(const struct made *made, const char *caller, uint32_t line, const char *callee, bool is_inlined,
    uint64_t total, uint64_t runs)
{
    uint32_t sites, calls, found = 0;
    const struct wp_report_site *site = wp_report_sites(made->report, &sites);
    const struct wp_report_call *row = wp_report_calls(made->report, &calls);
    for (uint32_t i = 0; i < calls; i++) {
        const struct wp_report_site *s = &site[row[i].site];
        if (s->line != line || strcmp(wp_report_text(made->report, s->function), caller) ||
            strcmp(wp_report_text(made->report, row[i].callee), callee))
            continue;
        assert_int_equal(row[i].is_inlined, is_inlined);
        assert_int_equal(row[i].total_ns, total);
        assert_int_equal(row[i].run_ns, runs);
        found++;
    }
    assert_int_equal(found, total || runs);
}

static void adds_up(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    uint32_t app = process(&made, 0, "[app]"), start = at(&made, app, "_start", "", 0, false);
    uint32_t first = at(&made, start, "main", "a.c", 10, false), second = at(&made, start, "main", "a.c", 11, false);
    uint32_t inner = at(&made, first, "mix", "a.h", 3, true);
    assert_int_not_equal(first, second);
    run(&made, first, 5);
    run(&made, inner, 70);
    run(&made, second, 11);
    wp_line_sums_add(&made.sums, &made.tree, asleep(&made, second), WP_BLOCKING_IO, 400, false);
    wp_line_sums_flush(&made.sums, &made.tree, made.report);
    is_line(&made, "a.c", 10, "main", 75, 75, 5);
    is_line(&made, "a.c", 11, "main", 411, 11, 11);
    is_line(&made, "a.h", 3, "mix", 70, 70, 70);
    is_call(&made, "main", 10, "mix", true, 70, 70);
    is_call(&made, "main", 11, "sleep:read", false, 400, 0);
    is_call(&made, "_start", 0, "main", false, 486, 86);
    wp_line_sums_flush(&made.sums, &made.tree, made.report); /* nothing twice */
    is_line(&made, "a.c", 10, "main", 75, 75, 5);
    run(&made, first, 1);
    wp_line_sums_flush(&made.sums, &made.tree, made.report);
    is_line(&made, "a.c", 10, "main", 76, 76, 6);
    wp_line_sums_clear(&made.sums);
    wp_report_clear(made.report);
    run(&made, inner, 2);
    wp_line_sums_flush(&made.sums, &made.tree, made.report);
    is_line(&made, "a.h", 3, "mix", 2, 2, 2);
    is_line(&made, "a.c", 11, "main", 0, 0, 0);
    end(&made);
}

/* walk() calls itself on line 20: a stack counts once for the line, whoever is on it how often. */
static void recursion_counts_once(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    uint32_t node = at(&made, process(&made, 0, "[app]"), "main", "a.c", 5, false);
    for (int i = 0; i < 4; i++)
        node = at(&made, node, "walk", "a.c", 20, false);
    run(&made, at(&made, node, "walk", "a.c", 21, false), 100);
    run(&made, node, 10);
    wp_line_sums_flush(&made.sums, &made.tree, made.report);
    is_line(&made, "a.c", 20, "walk", 110, 110, 10);
    is_line(&made, "a.c", 21, "walk", 100, 100, 100);
    is_call(&made, "walk", 20, "walk", false, 110, 110);
    end(&made);
}

/* What another process does is what the line waits for; where both run the same code, each line's run is its own
 * process'. */
static void processes_part(void **state)
{
    (void)state;
    struct made made;
    begin(&made);
    uint32_t front = at(&made, process(&made, 0, "[app]"), "ask", "a.c", 30, false);
    uint32_t back = at(&made, process(&made, asleep(&made, front), "[db]"), "ask", "a.c", 30, false);
    uint32_t plain = at(&made, process(&made, asleep(&made, front), "[sh]"), "other", "", 0, false);
    run(&made, back, 50);
    run(&made, plain, 7);
    run(&made, front, 1);
    wp_line_sums_flush(&made.sums, &made.tree, made.report);
    is_line(&made, "a.c", 30, "ask", 58, 51, 51);
    is_call(&made, "ask", 30, "sleep:read", false, 57, 0);
    end(&made);
}

static void nothing_without_lines(void **state)
{
    (void)state;
    struct made made;
    uint32_t count;
    begin(&made);
    uint32_t node = at(&made, at(&made, process(&made, 0, "[app]"), "main", "", 0, false), "f", "", 0, false);
    run(&made, node, 5);
    wp_line_sums_flush(&made.sums, &made.tree, made.report);
    wp_report_sites(made.report, &count);
    assert_int_equal(count, 0);
    assert_int_equal(made.sums.node_room, 0); /* and no memory for it */
    end(&made);
}

static uint32_t of(struct made *made, uint32_t node, const char *function, const char *object, uint32_t line)
{
    uint32_t frame = wp_pathtree_frame(&made->tree, WP_STYLE_USER, function, object);
    if (line)
        frame = wp_pathtree_at_line(&made->tree, frame, object, line, false);
    return wp_pathtree_child(&made->tree, node, frame);
}

/* Each line of a script calls the same function of its interpreter: what that calls is told of the line, too. */
static void scripts_call_through_their_interpreter(void **state)
{
    (void)state;
    static const char script[] = "/srv/app.py", python[] = "/usr/lib/libpython3.11.so.1.0", libc[] = "/lib/libc.so.6";
    struct made made;
    begin(&made);
    uint32_t app = process(&made, 0, "[app]");
    uint32_t ask = of(&made, app, "<module>", script, 9), nap = of(&made, app, "<module>", script, 11);
    uint32_t ask_by = of(&made, ask, "PyObject_Vectorcall", python, 0),
             nap_by = of(&made, nap, "PyObject_Vectorcall", python, 0);
    uint32_t receive = of(&made, of(&made, ask_by, "sock_call", python, 0), "recv", libc, 0);
    uint32_t sleep = of(&made, nap_by, "clock_nanosleep", libc, 0);
    run(&made, ask_by, 5);
    run(&made, receive, 7);
    wp_line_sums_add(&made.sums, &made.tree, asleep(&made, receive), WP_MESSAGE_IN_FLIGHT, 400, false);
    wp_line_sums_add(&made.sums, &made.tree, asleep(&made, sleep), WP_DELIBERATE_SLEEP, 900, false);
    /* the interpreter calls the script again, which calls the same at the same line */
    uint32_t again = of(&made, of(&made, ask_by, "call_back", python, 0), "<module>", script, 9);
    wp_line_sums_add(&made.sums, &made.tree,
        asleep(&made, of(&made, of(&made, again, "PyObject_Vectorcall", python, 0), "recv", libc, 0)),
        WP_MESSAGE_IN_FLIGHT, 30, false);
    wp_line_sums_flush(&made.sums, &made.tree, made.report);
    is_line(&made, script, 9, "<module>", 442, 12, 0);
    is_call(&made, "<module>", 9, "recv", false, 437, 7);
    is_call(&made, "<module>", 9, "<module>", false, 30, 0);
    is_call(&made, "<module>", 11, "clock_nanosleep", false, 900, 0);
    is_call(&made, "<module>", 11, "PyObject_Vectorcall", false, 0, 0);
    /* the same calls of another thread that it waits for: no call runs longer than it takes */
    uint32_t other = process(&made, asleep(&made, receive), "[other]");
    uint32_t there = of(&made, of(&made, other, "<module>", script, 9), "PyObject_Vectorcall", python, 0);
    run(&made, there, 60);
    run(&made, of(&made, there, "recv", libc, 0), 70);
    wp_line_sums_flush(&made.sums, &made.tree, made.report);
    is_call(&made, "<module>", 9, "recv", false, 567, 77);
    is_call(&made, "<module>", 9, "PyObject_Vectorcall", false, 5, 5);
    end(&made);
}

static void too_many_are_counted(void **state)
{
    (void)state;
    struct made made;
    uint32_t count;
    begin(&made);
    uint32_t app = process(&made, 0, "[app]");
    for (uint32_t i = 1; i <= WP_LINE_SITES + 3; i++)
        run(&made, at(&made, app, "main", "a.c", i, false), 2);
    wp_line_sums_flush(&made.sums, &made.tree, made.report);
    wp_report_sites(made.report, &count);
    assert_int_equal(count, WP_LINE_SITES);
    const struct wp_limit_count *limits = wp_report_limits(made.report, &count);
    assert_int_equal(count, 1);
    assert_string_equal(wp_report_text(made.report, limits[0].name), "lines");
    assert_int_equal(limits[0].count, 3);
    assert_int_equal(limits[0].ns, 6);
    end(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(adds_up), cmocka_unit_test(recursion_counts_once),
        cmocka_unit_test(processes_part), cmocka_unit_test(nothing_without_lines),
        cmocka_unit_test(scripts_call_through_their_interpreter), cmocka_unit_test(too_many_are_counted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
