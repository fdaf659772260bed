/* SPDX-License-Identifier: Apache-2.0 */
/* Causes with their places: locks and who held them, rings of locks, signals; that no two tell the same time; and
 * processes of one name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "reporter/facts/code_location.h"
#include "reporter/load/facts_read.h"
#include "reporter/waits/wait_graph.h"
#include "storage/report/report.h"
#include "storage/report/report_transactions.h"
#include "tests/reporter/sample.h"

#define MS 1000000u

static void build(struct wp_facts *facts, struct wp_report *report)
{
    assert_int_equal(wp_facts_build(facts, "v1", "main", report, NULL, NULL), 0);
}

static void add(struct wp_report *report, const char *stack, enum wp_category category, uint64_t ms)
{
    wp_report_add(report, sample_node(report, stack), category, ms * MS, 1);
}

static void each_time_is_told_once(struct wp_facts *facts)
{
    uint64_t told = 0;
    for (size_t i = 0; i < facts->finding_count; i++)
        told += facts->findings[i].ns;
    assert_int_equal(told, facts->total_ns);
    wp_facts_fini(facts);
}

/* The holder's sleep is the wait's, at whatever depth; who has the lock and no CPU yet waits for a CPU. */
static void a_lock(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    add(report,
        "[app];main;pthread_join@libc.so.6;sleep:futex;[app];put;pthread_mutex_lock@libc.so.6;sleep:futex cache "
        "(app);[app];audit;fsync@libc.so.6;sleep:fsync /j;io:vda",
        WP_BLOCKING_IO, 50);
    add(report,
        "[app];main;pthread_join@libc.so.6;sleep:futex;[app];put;pthread_mutex_lock@libc.so.6;sleep:futex cache "
        "(app);[app];audit;fsync@libc.so.6;sleep:fsync /j;sched:runnable",
        WP_SCHEDULER, 10);
    add(report,
        "[app];main;pthread_join@libc.so.6;sleep:futex;[app];get;pthread_mutex_lock@libc.so.6;sleep:futex cache "
        "(app);[app];sum",
        WP_UNDERSTOOD_FUNCTIONS, 5);
    add(report,
        "[app];main;pthread_join@libc.so.6;sleep:futex;[app];put;pthread_mutex_lock@libc.so.6;sleep:futex cache "
        "(app);sched:runnable",
        WP_SCHEDULER, 4);
    add(report,
        "[app];main;pthread_join@libc.so.6;sleep:futex;[app];put;pthread_cond_wait@libc.so.6;sleep:futex work (app)",
        WP_UNACCOUNTED, 2);
    add(report, "[app];main", WP_UNDERSTOOD_FUNCTIONS, 1);
    build(&facts, report);
    assert_string_equal(facts.findings[0].kind, "lock");
    assert_string_equal(facts.findings[0].sentence,
        "app waits 65.0 ms (90.3 %) for `cache` in `put`; it is held during `fsync` in `audit`. Lock held across "
        "I/O, certain: for 92.3 % of the wait its holder sleeps in `fsync`.");
    assert_int_equal(facts.findings[0].ns, 65 * MS);
    assert_string_equal(facts.findings[1].kind, "scheduler");
    assert_int_equal(facts.findings[1].ns, 4 * MS);
    each_time_is_told_once(&facts);
}

static void a_ring(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    add(report,
        "[app];main;pthread_join@libc.so.6;sleep:futex;[app];left;pthread_mutex_lock@libc.so.6;sleep:futex a "
        "(app);[app];right;pthread_mutex_lock@libc.so.6;sleep:futex;deadlock:2 threads;signal:SIGINT from [bash]",
        WP_OTHER_PATH, 90);
    add(report, "[app];main", WP_UNDERSTOOD_FUNCTIONS, 10);
    build(&facts, report);
    assert_string_equal(facts.findings[0].kind, "deadlock");
    assert_string_equal(facts.findings[0].sentence,
        "Deadlock: `left` holds lock 2 and waits for `a`; `right` holds `a` and waits for lock 2, 90.0 ms (90 %), "
        "until "
        "SIGINT from bash.");
    each_time_is_told_once(&facts);
    report = wp_report_create(); /* what nobody made so */
    add(report, "[app];deadlock:99999999999 threads", WP_OTHER_PATH, 5);
    add(report, "[app];f;sleep:futex;deadlock:7 threads", WP_OTHER_PATH, 5);
    build(&facts, report);
    assert_non_null(strstr(facts.findings[0].sentence, "Deadlock: threads wait for each other's locks"));
    each_time_is_told_once(&facts);
}

static void signals(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    add(report, "[web];query;sleep:recvfrom tcp 10.0.0.7:5432;signal:SIGTERM from [sh]", WP_UNACCOUNTED, 60);
    add(report, "[web];pause;sleep:clock_nanosleep;signal:SIGINT", WP_DELIBERATE_SLEEP, 40);
    build(&facts, report);
    assert_string_equal(facts.findings[0].sentence,
        "web is asleep for 60.0 ms (60 %) in `recvfrom` on tcp 10.0.0.7:5432, in `query`: nobody answered until "
        "SIGTERM "
        "from sh ended it.");
    assert_string_equal(
        facts.findings[1].sentence, "web sleeps on purpose for 40.0 ms (40 %) in `pause`; SIGINT ended it.");
    each_time_is_told_once(&facts);
}

/* make waits for sh, which waits for another make: no circle, but a circle where each name is one process. */
static void processes_of_one_name_are_no_circle(void **state)
{
    (void)state;
    struct wp_wait_graph graph;
    for (uint32_t pids = 1; pids < 3; pids++) {
        struct wp_facts facts;
        struct wp_report *report = wp_report_create();
        wp_report_add(report, sample_node(report, "[make];sleep:wait4;[sh];sleep:wait4;[make];f"),
            WP_UNDERSTOOD_FUNCTIONS, 40, 1);
        for (uint32_t pid = 0; pid < pids; pid++)
            wp_report_process_add(report, wp_report_process(report, "h", "make", 100 + pid, 1), 40, 40);
        wp_report_process_add(report, wp_report_process(report, "h", "sh", 50, 1), 40, 0);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        wp_wait_graph_processes(&graph, &facts.pool, &facts);
        assert_int_equal(graph.knot_count, pids == 1);
        assert_int_equal(graph.waits[0].ns, 40);
        wp_facts_fini(&facts);
    }
}

static const struct wp_graph_wait *wait_between(const struct wp_wait_graph *graph, const char *from, const char *to)
{
    for (uint32_t i = 0; i < graph->wait_count; i++)
        if (!strcmp(graph->parties[graph->waits[i].from].name, from) &&
            !strcmp(graph->parties[graph->waits[i].to].name, to))
            return &graph->waits[i];
    fail_msg("%s does not wait for %s", from, to);
    return NULL;
}

/* put waits for the lock, which audit and put itself hold; one stack with two waits for it counts once. */
static void locks_stand_between_threads(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_wait_graph graph;
    struct wp_facts facts;
    (void)state;
    add(report,
        "[app];put;pthread_mutex_lock@libc.so.6;sleep:futex cache (app);[app];audit;fsync@libc.so.6;sleep:fsync "
        "/j;io:vda",
        WP_BLOCKING_IO, 50);
    add(report,
        "[app];put;pthread_mutex_lock@libc.so.6;sleep:futex cache (app);[app];put;pthread_mutex_lock@libc.so.6;"
        "sleep:futex cache (app);[app];put",
        WP_UNDERSTOOD_FUNCTIONS, 7);
    build(&facts, report);
    wp_wait_graph_processes(&graph, &facts.pool, &facts);
    assert_int_equal(wait_between(&graph, "app in put", "cache (app)")->ns, 57 * MS);
    assert_int_equal(wait_between(&graph, "cache (app)", "app in audit")->ns, 50 * MS);
    assert_int_equal(wait_between(&graph, "cache (app)", "app in put")->ns, 7 * MS);
    assert_true(wait_between(&graph, "cache (app)", "app in audit")->permalink != 0);
    assert_int_equal(graph.knot_count, 0);
    wp_facts_fini(&facts);
}

static void places(void **state)
{
    static const struct {
        const char *name, *object;
        unsigned rank;
    } rows[] = {{"update_cache", "/srv/app", 3}, {"pthread_mutex_lock", "/lib/x86_64-linux-gnu/libc.so.6", 1},
        {"PQexec", "/usr/lib/libpq.so.5", 2}, {"_PyEval_EvalFrameDefault", "/usr/bin/python3.11", 1},
        {"shop.Till.settle", "shop/Till.java", 3}, {"shop.Till$$Lambda$1.run", "", 1},
        {"java.util.concurrent.FutureTask.run", "java/util/concurrent/FutureTask.java", 1},
        {"py::handle:/srv/app.py", "", 3}, {"py::wait:/usr/lib/python3.12/threading.py", "", 1},
        {"Report.render", "/srv/reports.py", 3}, {"<module>", "<string>", 3},
        {"Condition.wait", "/usr/lib/python3.11/threading.py", 1},
        {"_find_and_load", "<frozen importlib._bootstrap>", 1}, {"fsyncSync", "node:fs", 1},
        {"spawnSync", "node:internal/child_process", 1}, {"appendRecord", "/srv/shop/journal.mjs", 3},
        {"next", "/srv/shop/node_modules/express/lib/router/index.js", 2},
        {"Session.get", "/srv/env/lib/python3.11/site-packages/requests/sessions.py", 2},
        {"runtime.gopark", "/srv/app", 1}, {"sync.(*Mutex).Lock", "/srv/app", 1}, {"main.handle", "/srv/app", 3},
        {"std::sync::mutex::Mutex<T>::lock", "/srv/app", 1}, {"__gthread_mutex_lock", "/srv/app", 1},
        {"void std::__invoke_impl<void, main::{lambda()#1}>", "/srv/app", 1}, {"[app]", "/srv/app", 0},
        {"<u64>::wrapping_add", "/srv/app", 1}, {"<str as core::fmt::Display>::fmt", "/srv/app", 1},
        {"<[T]>::sort_by", "/srv/app", 1}, {"<strum::Names as Iterator>::next", "/srv/app", 3},
        {"nodeVisit", "/srv/nodetool", 3}, {"block in run", "/srv/shop/till.rb", 3},
        {"wait", "/usr/lib/ruby/3.1.0/monitor.rb", 1}, {"tap", "<internal:kernel>", 1},
        {"run", "/var/lib/gems/3.1.0/gems/puma-6.0.0/lib/puma/server.rb", 2}, {"Till::settle", "/srv/till.php", 3},
        {"Till::settle", "/srv/Till.pm", 3},
        {"List::Util::first", "/usr/lib/x86_64-linux-gnu/perl-base/List/Util.pm", 1},
        {"LWP::UserAgent::get", "/usr/share/perl5/LWP/UserAgent.pm", 2},
        {"rb_vm_exec", "/usr/lib/x86_64-linux-gnu/libruby-3.1.so.3.1.7", 1}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        if (wp_code_location_rank(WP_STYLE_USER, rows[i].name, rows[i].object) != rows[i].rank)
            fail_msg("%s: %u", rows[i].name, wp_code_location_rank(WP_STYLE_USER, rows[i].name, rows[i].object));
    assert_int_equal(wp_code_location_rank(WP_STYLE_KERNEL, "do_wait", ""), 0);
}

/* Of an interpreter's own functions, but not of other libraries', what they run. */
static void what_an_interpreter_runs(void **state)
{
    (void)state;
    static const char *const stacks[] = {
        "[web];main@/usr/bin/python3.11;handle@/srv/web.py;dict_get@/usr/bin/python3.11",
        "[web];main@/usr/bin/python3.11;handle@/srv/web.py;sum@/usr/lib/_fast.so",
        "[web];main@/usr/bin/python3.11;collect@/usr/bin/python3.11"};
    static const char *const named[] = {"first of all in handle", "first of all in sum", "first of all in collect"};
    for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
        struct wp_facts facts;
        struct wp_error err = {0};
        struct wp_report *report = wp_report_create();
        wp_report_add(report, sample_node(report, stacks[i]), WP_UNDERSTOOD_FUNCTIONS, 300, 3);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, &err), 0);
        assert_non_null(strstr(facts.findings[0].sentence, named[i]));
        wp_facts_fini(&facts);
    }
}

/* What makes the slow ones slow is that `who` does not read them, and does `what` meanwhile. */
static void is_unread(const char *who, const char *what, const char *said)
{
    struct wp_facts facts;
    struct wp_report *report = wp_report_create();
    bool is_found = false;
    add(report, "[web];main@web;sleep:epoll_wait", WP_REMOTE_NOT_TRACED, 1000);
    for (unsigned i = 0; i < 200; i++) {
        uint64_t ns = (i % 10 ? 1 : 20) * MS;
        wp_report_transaction(report, "tcp port 80", i, ns);
        wp_report_transaction_part(
            report, &(struct wp_transaction_part){"tcp port 80", who, what, WP_PART_UNREAD, wp_latency_bucket(ns), ns});
    }
    build(&facts, report);
    for (size_t i = 0; i < facts.finding_count; i++)
        is_found |= !strcmp(facts.findings[i].kind, "slow") && strstr(facts.findings[i].sentence, said);
    assert_true(is_found);
    wp_facts_fini(&facts);
}

static void requests_that_lie_unread(void **state)
{
    (void)state;
    is_unread("", "", "the request lies unread in the socket.");
    is_unread("web", "", "web leaves the request unread.");
    is_unread("web", "task answer › price", "web leaves the request unread in task answer › price.");
    is_unread("web", "sched:behind [gzip]", "web leaves the request unread (behind [gzip]).");
}

/* One part is longer by more than the whole is, as others are shorter. */
static void no_more_than_all_of_a_difference(void **state)
{
    struct wp_facts facts;
    struct wp_report *report = wp_report_create();
    bool is_found = false;
    (void)state;
    add(report, "[web];main@web;sleep:epoll_wait", WP_REMOTE_NOT_TRACED, 1000);
    for (unsigned i = 0; i < 200; i++) {
        uint64_t ns = (i % 10 ? 10 : 20) * MS, run_ns = i % 10 ? 8 * MS : 2 * MS;
        unsigned bucket = wp_latency_bucket(ns);
        wp_report_transaction(report, "tcp port 80", i, ns);
        wp_report_transaction_part(
            report, &(struct wp_transaction_part){"tcp port 80", "web", "", WP_UNDERSTOOD_FUNCTIONS, bucket, run_ns});
        wp_report_transaction_part(report,
            &(struct wp_transaction_part){"tcp port 80", "web", "pause", WP_DELIBERATE_SLEEP, bucket, ns - run_ns});
    }
    build(&facts, report);
    for (size_t i = 0; i < facts.finding_count; i++)
        is_found |= !strcmp(facts.findings[i].kind, "slow") &&
            strstr(facts.findings[i].sentence, ": for all of the difference web sleeps on purpose in pause.");
    assert_true(is_found);
    wp_facts_fini(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_lock), cmocka_unit_test(a_ring), cmocka_unit_test(signals),
        cmocka_unit_test(processes_of_one_name_are_no_circle), cmocka_unit_test(locks_stand_between_threads),
        cmocka_unit_test(places), cmocka_unit_test(no_more_than_all_of_a_difference),
        cmocka_unit_test(what_an_interpreter_runs), cmocka_unit_test(requests_that_lie_unread)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
