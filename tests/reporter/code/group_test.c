/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/code/group.h"
#include "reporter/facts/contour.h"
#include "reporter/load/facts_read.h"
#include "storage/report/report_lines.h"
#include "storage/report/report_merge.h"
#include "tests/reporter/sample.h"
#include "tests/reporter/sample_source.h"

#include <stdio.h>
#include <string.h>

/* web on web-1 waits for postgres on db-7; what it does itself is on the host that was asked about. */
static void build(struct wp_facts *facts)
{
    struct wp_error err = {0};
    struct wp_report *report = wp_report_create();
    wp_report_add(report, sample_node(report, "[web];main@web"), WP_UNDERSTOOD_FUNCTIONS, 10, 1);
    uint32_t node = sample_node(report, "[web];main@web;sleep:read;tcp:10.0.0.7:5432");
    wp_report_add(report, node, WP_MESSAGE_IN_FLIGHT, 5, 1);
    node = wp_report_child(report, node, wp_report_frame(report, WP_STYLE_PROCESS, "[postgres]@db-7", ""));
    node = wp_report_child(report, node, wp_report_frame(report, WP_STYLE_USER, "main", "postgres"));
    wp_report_add(report, node, WP_UNDERSTOOD_FUNCTIONS, 300, 3);
    node = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_PROCESS, "[odd]@]@db-7", ""));
    wp_report_add(report, node, WP_SCHEDULER, 7, 1);
    wp_report_add(report, 0, WP_UNACCOUNTED, 1, 1); /* on no process at all */
    wp_report_host(report, "web-1");
    wp_report_host(report, "db-7");
    if (wp_facts_build(facts, "v1", "main", report, NULL, &err))
        fail_msg("%s", err.text);
}

static const struct wp_group_row *find(const struct wp_group *group, const char *name, const char *object)
{
    for (size_t i = 0; i < group->count; i++)
        if (!strcmp(group->rows[i].name, name) && !strcmp(group->rows[i].object, object))
            return &group->rows[i];
    fail_msg("no row %s %s", name, object);
    return NULL;
}

static void hosts_are_those_of_the_frames(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_group group;
    build(&facts);
    assert_int_equal(wp_group_build(&group, &facts, &(struct wp_group_filter){0}, WP_BY_HOST, NULL), 0);
    assert_int_equal(group.matched_ns, facts.total_ns);
    assert_int_equal(group.count, 3);
    assert_int_equal(find(&group, "db-7", "")->ns, 307);
    assert_int_equal(find(&group, "web-1", "")->ns, 15);
    assert_int_equal(find(&group, "web-1", "")->inclusive_ns, 315);
    assert_int_equal(find(&group, "", "")->ns, 1);
    wp_group_fini(&group);
    assert_int_equal(wp_group_build(&group, &facts, &(struct wp_group_filter){0}, WP_BY_PROCESS, NULL), 0);
    assert_int_equal(find(&group, "postgres", "")->count, 3);
    assert_int_equal(find(&group, "odd]@", "")->ns, 7); /* the last "]@" parts */
    wp_group_fini(&group);
    wp_facts_fini(&facts);
}

static void filters_hold_of_one_layer(void **state)
{
    (void)state;
    static const struct {
        struct wp_group_filter filter;
        uint64_t ns;
    } cases[] = {{{.process = "web"}, 315}, {{.process = "postgres"}, 300}, {{.host = "db-*"}, 307},
        {{.host = "web-1"}, 315}, {{.process = "web", .host = "db-7"}, 0},
        {{.process = "postgres", .host = "db-7", .function = "main"}, 300}, {{.function = "main"}, 315},
        {{.host = "db-7", .function = "main"}, 300}, {{.host = "*"}, 322}, {{0}, 323},
        {{.categories = 1u << WP_UNDERSTOOD_FUNCTIONS}, 310}, {{.process = "[web]"}, 0},
        {{.process = "web", .categories = 1u << WP_SCHEDULER | 1u << WP_MESSAGE_IN_FLIGHT}, 5}};
    struct wp_facts facts;
    build(&facts);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        for (int by = 0; by < WP_BY_FILE; by++) { /* lines know of functions only */
            struct wp_group group;
            uint64_t sum = 0;
            assert_int_equal(wp_group_build(&group, &facts, &cases[i].filter, (enum wp_group_by)by, NULL), 0);
            for (size_t row = 0; row < group.count; row++)
                sum += group.rows[row].ns;
            if (group.matched_ns != cases[i].ns || sum != cases[i].ns)
                fail_msg("case %zu by %s: %llu", i, wp_group_by_name((enum wp_group_by)by), (unsigned long long)sum);
            wp_group_fini(&group);
        }
    wp_facts_fini(&facts);
}

/* Frames that are left out: their time is that of who stands below them; the total stays. */
static void what_is_left_out_counts_for_its_caller(void **state)
{
    static const struct {
        const char *contour;
        enum wp_group_by by;
        const char *name, *object;
        uint64_t ns, inclusive_ns;
    } cases[] = {
        {"process=postgres", WP_BY_PROCESS, "web", "", 315, 315},
        {"process=postgres", WP_BY_FUNCTION, "main", "web", 315, 315}, /* the one below the wait */
        {"object=postgres", WP_BY_PROCESS, "postgres", "", 300, 300},
        {"module=post*", WP_BY_FUNCTION, "main", "web", 315, 315}, /* no function of postgres is left */
        {"module=web", WP_BY_FUNCTION, "main", "postgres", 300, 300},
        {"process=web", WP_BY_PROCESS, "web", "", 15, 315}, /* nothing stands below it */
        {"process=nobody", WP_BY_PROCESS, "postgres", "", 300, 300},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_facts whole, facts;
        struct wp_contour contour = {0};
        struct wp_group group;
        struct wp_report *report = wp_report_create();
        build(&whole);
        assert_int_equal(wp_contour_add(&contour, cases[i].contour), 0);
        assert_int_equal(wp_report_merge(report, whole.report, NULL), 0);
        assert_int_equal(wp_contour_apply(&report, &contour, NULL), 0);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        assert_int_equal(facts.total_ns, whole.total_ns);
        assert_int_equal(wp_group_build(&group, &facts, &(struct wp_group_filter){0}, cases[i].by, NULL), 0);
        const struct wp_group_row *row = find(&group, cases[i].name, cases[i].object);
        if (row->ns != cases[i].ns || row->inclusive_ns != cases[i].inclusive_ns)
            fail_msg("case %zu: %llu, %llu", i, (unsigned long long)row->ns, (unsigned long long)row->inclusive_ns);
        wp_group_fini(&group);
        wp_facts_fini(&facts);
        wp_facts_fini(&whole);
    }
    struct wp_contour contour = {0};
    assert_int_equal(wp_contour_add(&contour, "function=main"), -EINVAL);
    assert_int_equal(wp_contour_add(&contour, "process="), -EINVAL);
    for (unsigned i = 0; i < WP_CONTOUR_PARTS; i++)
        assert_int_equal(wp_contour_add(&contour, "process=a"), 0);
    assert_int_equal(wp_contour_add(&contour, "process=a"), -E2BIG);
}

static void rows_come_by_any_measure(void **state)
{
    static const struct {
        struct wp_group_order order;
        const char *first;
        size_t count;
    } cases[] = {{{WP_ORDER_OWN, 0, 0}, "postgres", 4}, {{WP_ORDER_TOTAL, 0, 0}, "web", 4},
        {{WP_ORDER_RUN, 0, 11}, "postgres", 1}, {{WP_ORDER_WAIT, 0, 5}, "odd]@", 2},
        {{WP_ORDER_PIECES, 0, 2}, "postgres", 2}, {{WP_ORDER_EACH, 0, 0}, "postgres", 4},
        {{WP_ORDER_OWN, 4.5, 0}, "postgres", 2}, {{WP_ORDER_TOTAL, 95, 0}, "web", 1},
        {{WP_ORDER_OWN, 0, 1000}, NULL, 0}};
    struct wp_facts facts;
    (void)state;
    build(&facts);
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_group group;
        assert_int_equal(wp_group_build(&group, &facts, &(struct wp_group_filter){0}, WP_BY_PROCESS, NULL), 0);
        size_t count = wp_group_sort_by(&group, &cases[i].order);
        if (count != cases[i].count || (cases[i].first && strcmp(group.rows[0].name, cases[i].first)))
            fail_msg("case %zu: %zu rows, first %s", i, count, group.rows[0].name);
        wp_group_fini(&group);
    }
    assert_int_equal(wp_group_measure_find("each"), WP_ORDER_EACH);
    assert_int_equal(wp_group_measure_find("size"), -1);
    wp_facts_fini(&facts);
}

static void functions_of_the_same_name_are_told_apart(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_group group;
    build(&facts);
    assert_int_equal(wp_group_build(&group, &facts, &(struct wp_group_filter){0}, WP_BY_FUNCTION, NULL), 0);
    assert_int_equal(find(&group, "main", "web")->ns, 15);
    assert_int_equal(find(&group, "main", "web")->inclusive_ns, 315);
    assert_int_equal(find(&group, "main", "postgres")->ns, 300);
    assert_int_equal(find(&group, "", "")->ns, 8);
    wp_group_fini(&group);
    wp_facts_fini(&facts);
}

/* The scheduler, the C library and a kernel's worker are how a program waits, not where. */
static void time_is_the_programs_own_functions(void **state)
{
    static const char *const fsync = "[app];main@app;audit@app;fsync@libc.so.6;k:do_fsync;k:__schedule;sleep:fsync";
    char worker[128];
    struct wp_facts facts;
    struct wp_group group;
    struct wp_report *report = wp_report_create();
    (void)state;
    snprintf(worker, sizeof(worker), "%s;[kworker/0:1];k:blk_done", fsync);
    wp_report_add(report, sample_node(report, fsync), WP_BLOCKING_IO, 50, 1);
    wp_report_add(report, sample_node(report, worker), WP_UNDERSTOOD_FUNCTIONS, 7, 1);
    wp_report_add(report, sample_node(report, "[app];k:do_exit;k:__schedule"), WP_KERNEL_BLOCK, 3, 1);
    wp_report_add(report, sample_node(report, "[app]"), WP_SCHEDULER, 1, 1);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    assert_int_equal(wp_group_build(&group, &facts, &(struct wp_group_filter){0}, WP_BY_FUNCTION, NULL), 0);
    assert_string_equal(group.rows[0].name, "audit");
    assert_int_equal(group.rows[0].ns, 57);
    assert_int_equal(find(&group, "do_exit", "")->ns, 3);
    assert_int_equal(find(&group, "__schedule", "")->ns, 0);
    assert_int_equal(find(&group, "__schedule", "")->inclusive_ns, 60);
    assert_int_equal(find(&group, "", "")->ns, 1);
    assert_int_equal(group.matched_ns, 61);
    wp_group_fini(&group);
    wp_facts_fini(&facts);
}

static void lines_and_files_add_up(void **state)
{
    (void)state;
    struct wp_facts facts;
    struct wp_group group;
    assert_int_equal(wp_facts_build(&facts, "v1", "main", sample_source_report(), NULL, NULL), 0);
    assert_int_equal(wp_group_build(&group, &facts, &(struct wp_group_filter){0}, WP_BY_LINE, NULL), 0);
    assert_int_equal(group.matched_ns, 1100000000); /* all of it has lines */
    assert_string_equal(group.rows[0].name, "/build/shop/src/money.h:7");
    assert_int_equal(group.rows[0].ns, 400000000);
    assert_int_equal(find(&group, "/build/shop/src/till.c:47", "main")->ns, 0);
    assert_int_equal(find(&group, "/build/shop/src/till.c:47", "main")->inclusive_ns, 560000000);
    wp_group_fini(&group);
    assert_int_equal(
        wp_group_build(&group, &facts, &(struct wp_group_filter){.function = "settle"}, WP_BY_FILE, NULL), 0);
    assert_int_equal(group.count, 1);
    assert_int_equal(group.rows[0].ns, 160000000);
    assert_int_equal(group.rows[0].inclusive_ns, 410000000);
    wp_group_fini(&group);
    assert_int_equal(wp_group_build(&group, &facts, &(struct wp_group_filter){.host = "*"}, WP_BY_FILE, NULL), -EINVAL);
    for (int by = WP_BY_FILE; by <= WP_BY_LINE; by++) { /* the rows outlive what they were made of */
        assert_int_equal(wp_group_build(&group, &facts, &(struct wp_group_filter){0}, by, NULL), 0);
        for (size_t i = 0; i < group.count; i++)
            for (uint32_t k = 0; k < facts.source.site_count; k++)
                assert_true(group.rows[i].object != facts.source.sites[k].function);
        for (size_t i = 0; i < group.count; i++)
            for (uint32_t k = 0; k < facts.source.file_count; k++)
                assert_true(group.rows[i].name != facts.source.files[k].path);
        wp_group_fini(&group);
    }
    wp_facts_fini(&facts);
}

/* A line that waits, and the line of another process that it waits for: the time is the latter's. */
static void a_wait_is_of_the_line_on_top(void **state)
{
    struct wp_facts facts;
    struct wp_group group;
    struct wp_report *report = wp_report_create();
    uint32_t ask = wp_report_site(report, "client.c", 7, "ask"),
             answer = wp_report_site(report, "server.c", 9, "answer");
    (void)state;
    wp_report_add(report, sample_node(report, "[client];ask@client;sleep:read;[server];answer@server"),
        WP_UNDERSTOOD_FUNCTIONS, 1000000000, 1);
    wp_report_add(report, sample_node(report, "[client];ask@client"), WP_UNDERSTOOD_FUNCTIONS, 200000000, 1);
    wp_report_line_add(
        report, &(struct wp_report_line){ask, WP_UNDERSTOOD_FUNCTIONS, 1200000000, 200000000, 200000000});
    wp_report_line_add(
        report, &(struct wp_report_line){answer, WP_UNDERSTOOD_FUNCTIONS, 1000000000, 1000000000, 1000000000});
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    assert_int_equal(wp_group_build(&group, &facts, &(struct wp_group_filter){0}, WP_BY_LINE, NULL), 0);
    assert_int_equal(group.matched_ns, group.total_ns);
    assert_int_equal(find(&group, "server.c:9", "answer")->ns, 1000000000);
    assert_int_equal(find(&group, "client.c:7", "ask")->ns, 200000000);
    assert_int_equal(find(&group, "client.c:7", "ask")->inclusive_ns, 1200000000);
    wp_group_fini(&group);
    wp_facts_fini(&facts);
}

/* With the C library's debug information its lines stand on top: the application's line is what called them. */
static void lines_are_the_applications(void **state)
{
    struct wp_facts facts;
    struct wp_group group;
    struct wp_report *report = wp_report_create();
    uint32_t audit = wp_report_site(report, "app.c", 7, "audit"), other = wp_report_site(report, "app.c", 8, "audit"),
             fsync = wp_report_site(report, "sysdeps/fsync.c", 27, "fsync"),
             memcpy_line = wp_report_site(report, "copy.S", 3, "memcpy");
    (void)state;
    wp_report_add(
        report, sample_node(report, "[app];main@app;audit@app;fsync@libc.so.6;sleep:fsync"), WP_BLOCKING_IO, 900, 1);
    wp_report_add(
        report, sample_node(report, "[app];main@app;audit@app;memcpy@libc.so.6"), WP_UNDERSTOOD_FUNCTIONS, 100, 1);
    wp_report_add(report, sample_node(report, "[worker];memcpy@libc.so.6"), WP_UNDERSTOOD_FUNCTIONS, 50, 1);
    wp_report_line_add(report, &(struct wp_report_line){audit, WP_BLOCKING_IO, 900, 0, 0});
    wp_report_line_add(report, &(struct wp_report_line){fsync, WP_BLOCKING_IO, 900, 0, 0});
    wp_report_line_add(report, &(struct wp_report_line){other, WP_UNDERSTOOD_FUNCTIONS, 100, 100, 0});
    wp_report_line_add(report, &(struct wp_report_line){memcpy_line, WP_UNDERSTOOD_FUNCTIONS, 150, 150, 150});
    wp_report_call_add(
        report, &(struct wp_report_call){audit, wp_report_string(report, "fsync"), WP_STYLE_USER, 0, 900, 0});
    wp_report_call_add(
        report, &(struct wp_report_call){other, wp_report_string(report, "memcpy"), WP_STYLE_USER, 0, 100, 100});
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    assert_int_equal(wp_group_build(&group, &facts, &(struct wp_group_filter){0}, WP_BY_LINE, NULL), 0);
    assert_int_equal(group.matched_ns, group.total_ns);
    assert_string_equal(group.rows[0].name, "app.c:7");
    assert_int_equal(find(&group, "app.c:7", "audit")->ns, 900);
    assert_int_equal(find(&group, "app.c:8", "audit")->ns, 100);
    assert_int_equal(find(&group, "sysdeps/fsync.c:27", "fsync")->ns, 0);
    assert_int_equal(find(&group, "sysdeps/fsync.c:27", "fsync")->inclusive_ns, 900);
    assert_int_equal(find(&group, "copy.S:3", "memcpy")->ns, 50); /* nobody of an application called it there */
    wp_group_fini(&group);
    wp_facts_fini(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_are_those_of_the_frames),
        cmocka_unit_test(filters_hold_of_one_layer),
        cmocka_unit_test(what_is_left_out_counts_for_its_caller),
        cmocka_unit_test(rows_come_by_any_measure),
        cmocka_unit_test(time_is_the_programs_own_functions),
        cmocka_unit_test(lines_and_files_add_up),
        cmocka_unit_test(a_wait_is_of_the_line_on_top),
        cmocka_unit_test(lines_are_the_applications),
        cmocka_unit_test(functions_of_the_same_name_are_told_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
