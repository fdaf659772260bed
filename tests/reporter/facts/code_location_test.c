/* SPDX-License-Identifier: Apache-2.0 */
/* Which line of a function a wait is told at: of several that call the same, the one that took the time; none, when
 * that may be another; and never one of another file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/code_rank.h"
#include "reporter/facts/code_location.h"
#include "reporter/facts/frame_table.h"
#include "reporter/load/facts_read.h"
#include "storage/report/report.h"
#include "storage/report/report_lines.h"

#define CLIENT "/srv/cli.py"
#define SERVER "/srv/srv.py"
#define PYTHON "/usr/lib/libpython3.11.so.1.0"

static uint32_t on(struct wp_report *report, uint32_t node, uint32_t style, const char *name, const char *object)
{
    return wp_report_child(report, node, wp_report_frame(report, style, name, object));
}

static void calls(struct wp_report *report, const char *file, uint32_t line, const char *callee, uint64_t ns)
{
    uint32_t site = wp_report_site(report, file, line, "<module>");
    struct wp_report_call call = {
        .site = site, .callee = wp_report_string(report, callee), .style = WP_STYLE_USER, .total_ns = ns};
    wp_report_line_add(report, &(struct wp_report_line){site, WP_MESSAGE_IN_FLIGHT, ns, 0, 0});
    wp_report_call_add(report, &call);
}

static void waits(struct wp_report *report, const char *process, const char *file, const char *call)
{
    uint32_t node = on(report, 0, WP_STYLE_PROCESS, process, "");
    node = on(report, node, WP_STYLE_USER, "<module>", file);
    node = on(report, node, WP_STYLE_USER, "PyObject_Vectorcall", PYTHON);
    node = on(report, node, WP_STYLE_USER, call, "/lib/libc.so.6");
    wp_report_add(report, on(report, node, WP_STYLE_SLEEP, "sleep:poll", ""), WP_MESSAGE_IN_FLIGHT, 100, 1);
}

static const char *name(const struct wp_facts *facts, uint32_t node)
{
    return wp_facts_frame_name(facts, facts->flame.nodes[node].frame);
}

/* The wait in that call of the process. */
static uint32_t wait_of(const struct wp_facts *facts, const char *process, const char *call)
{
    const struct wp_flame_node *nodes = facts->flame.nodes;
    for (uint32_t i = 1; i < facts->flame.count; i++) {
        uint32_t by = nodes[i].parent, outermost = by;
        while (outermost && nodes[outermost].parent)
            outermost = nodes[outermost].parent;
        if (!strcmp(name(facts, i), "sleep:poll") && !strcmp(name(facts, by), call) &&
            !strcmp(name(facts, outermost), process))
            return i;
    }
    fail_msg("no wait in %s of %s", call, process);
    return 0;
}

static void is_at(const struct wp_facts *facts, uint32_t node, const char *file, uint32_t line)
{
    struct wp_pool pool = {0};
    uint32_t *locations = wp_code_locations_build(&pool, facts);
    struct wp_code_location location = wp_code_location_at(facts, locations, node);
    assert_string_equal(location.function, "<module>");
    assert_string_equal(location.file, file);
    assert_int_equal(location.line, line);
    wp_pool_fini(&pool);
}

static void lines_of_waits(void **state)
{
    (void)state;
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    waits(report, "[cli]", CLIENT, "recv");
    waits(report, "[cli]", CLIENT, "nanosleep");
    waits(report, "[cli]", CLIENT, "send");
    waits(report, "[srv]", SERVER, "recv");
    calls(report, CLIENT, 9, "recv", 300);
    calls(report, CLIENT, 11, "nanosleep", 900);
    calls(report, CLIENT, 11, "PyObject_Vectorcall", 5);
    calls(report, CLIENT, 20, "send", 70); /* these two are alike */
    calls(report, CLIENT, 21, "send", 60);
    calls(report, SERVER, 5, "recv", 40);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    is_at(&facts, wait_of(&facts, "[cli]", "recv"), CLIENT, 9);
    is_at(&facts, wait_of(&facts, "[cli]", "nanosleep"), CLIENT, 11);
    is_at(&facts, wait_of(&facts, "[cli]", "send"), CLIENT, 0);
    is_at(&facts, wait_of(&facts, "[srv]", "recv"), SERVER, 5);
    wp_facts_fini(&facts);
}

/* Interpreters, by whatever name a distribution installs them; no program that is only called alike. */
static void the_interpreters_own_files(void **state)
{
    static const char *const own[] = {"php8.2", "php-fpm8.2", "php-fpm", "python3.11", "libruby-3.1.so.3.1", "node"};
    static const char *const others[] = {"php-fpm-exporter", "python-app", "nodered", "phpstan"};
    (void)state;
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        assert_true(wp_code_rank_is_runtime(own[i]));
    for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
        assert_false(wp_code_rank_is_runtime(others[i]));
}

/* Crates lie in the program's own file. */
static void crates_of_rust(void **state)
{
    static const char *const own[] = {"shop::serve::{{closure}}", "<shop::Server as tower_service::Service<R>>::call",
        "tokio_shop::sell", "mio", "hyperion::scan"};
    static const char *const crates[] = {"tokio::runtime::runtime::Runtime::block_on", "mio::poll::Poll::poll",
        "<&mio::net::tcp::stream::TcpStream as std::io::Write>::write", "futures_util::future::join_all::{{closure}}",
        "<hyper::proto::h1::conn::Conn>::poll_read"};
    static const char *const languages[] = {"core::ptr::drop_in_place", "<std::time::Instant>::now",
        "<&std::net::tcp::TcpStream as std::io::Read>::read", "<&dyn core::ops::function::Fn<()>>::call"};
    (void)state;
    for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
        assert_int_equal(wp_code_rank(own[i], "/usr/bin/shop"), 3);
    for (size_t i = 0; i < sizeof(crates) / sizeof(*crates); i++)
        assert_int_equal(wp_code_rank(crates[i], "/usr/bin/shop"), 2);
    for (size_t i = 0; i < sizeof(languages) / sizeof(*languages); i++)
        assert_int_equal(wp_code_rank(languages[i], "/usr/bin/shop"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(crates_of_rust), cmocka_unit_test(the_interpreters_own_files),
        cmocka_unit_test(lines_of_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
