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
#include "reporter/facts/stack_text.h"
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

/* Of a report of 50 ms there alone. */
static void first_says(const char *stack, enum wp_category category, const char *want)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    add(report, stack, category, 50);
    build(&facts, report);
    if (!strstr(facts.findings[0].sentence, want))
        fail_msg("%s\n%s", want, facts.findings[0].sentence);
    each_time_is_told_once(&facts);
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
        {"Java_sun_nio_ch_EPoll_wait", "/usr/lib/jvm/lib/libnio.so", 1}, {"nodeVisit", "/srv/nodetool", 3},
        {"block in run", "/srv/shop/till.rb", 3}, {"wait", "/usr/lib/ruby/3.1.0/monitor.rb", 1},
        {"tap", "<internal:kernel>", 1}, {"run", "/var/lib/gems/3.1.0/gems/puma-6.0.0/lib/puma/server.rb", 2},
        {"Till::settle", "/srv/till.php", 3}, {"Till::settle", "/srv/Till.pm", 3},
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
        assert_string_equal(wp_stack_plain_function(&facts.pool, "[gzip]"), "gzip (no symbols)");
        assert_string_equal(wp_stack_plain_function(&facts.pool, named[i]), named[i]);
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

/* Two main threads are two processes, whatever they are called and whatever one wakes the other by. */
static void a_main_thread_that_waits_for_another(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    for (unsigned i = 0; i < 2; i++) /* at the place with most time */
        add(report,
            i ? "[py];_start;fill@app;put@lib.so;__new_sem_wait_slow64@libc.so.6;sleep:futex;[py];_start;store@app;"
                "clock_nanosleep@libc.so.6;sleep:clock_nanosleep"
              : "[py];_start;stop@app;wait4@libc.so.6;sleep:wait4;[py];_start;store@app;"
                "clock_nanosleep@libc.so.6;sleep:clock_nanosleep",
            WP_DELIBERATE_SLEEP, i ? 60 : 30);
    build(&facts, report);
    assert_string_equal(facts.findings[0].sentence,
        "py waits in `fill` for another py, which sleeps on purpose for 90.0 ms (100 %) in "
        "`store`, 2 times, 45.0 ms on average.");
    each_time_is_told_once(&facts);
    report = wp_report_create();
    add(report,
        "[py];_start;fill@app;put@lib.so;__new_sem_wait_slow64@libc.so.6;sleep:futex;[py];clone3@libc.so.6;store@app;"
        "clock_nanosleep@libc.so.6;sleep:clock_nanosleep",
        WP_DELIBERATE_SLEEP, 60);
    build(&facts, report);
    assert_string_equal(facts.findings[0].sentence, "py sleeps on purpose for 60.0 ms (100 %) in `store`.");
    each_time_is_told_once(&facts);
}

static void a_thread_between(void **state)
{
#define WRITES                                                                                                         \
    "[py];clone3@libc.so.6;emit@app;write@libc.so.6;sleep:write pipe;[sink ];_start;ship@sink;"                        \
    "clock_nanosleep@libc.so.6;sleep:clock_nanosleep"
    static const struct {
        const char *stack, *want;
    } rows[] = {
        {"[py];_start;note@app;PyThread_acquire_lock_timed@python;__new_sem_wait_slow64@libc.so.6;sleep:futex;" WRITES,
            "py waits for a lock in `note` until another of its threads releases it; that one waits in `emit` for "
            "sink, which sleeps on purpose for 50.0 ms (100 %) in `ship`."},
        {"[py];_start;note@app;pthread_cond_wait@libc.so.6;sleep:futex;" WRITES,
            "py waits in `note` for another of its threads; that one waits in `emit` for sink, which sleeps on "
            "purpose for 50.0 ms (100 %) in `ship`."},
        {"[py];_start;main@app;pthread_cond_wait@libc.so.6;sleep:futex;" WRITES,
            "py waits in `emit` for sink, which sleeps on purpose for 50.0 ms (100 %) in `ship`."}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        first_says(rows[i].stack, WP_DELIBERATE_SLEEP, rows[i].want);
}

/* What only waits for the end of what it started says nothing of that, but where it is the program itself. */
static void programs_under_wrappers(void **state)
{
#define ASKS                                                                                                           \
    ";_start;search@app;poll@libc.so.6;sleep:poll "                                                                    \
    "unix;[shard];_start;scan@shard;clock_nanosleep@libc.so.6;sleep:clock_nanosleep"
    static const struct {
        const char *stack, *want;
    } rows[] = {{"[timeout];__sigsuspend@libc.so.6;sleep:rt_sigsuspend;[app]" ASKS,
                    "app waits in `search` for shard, which sleeps on purpose for 50.0 ms (100 %) in `scan`."},
        {"[make];sleep:wait4;[bash];wait_for@bash;sleep:wait4;[app]" ASKS,
            "app waits in `search` for shard, which sleeps on purpose for 50.0 ms (100 %) in `scan`."},
        {"[py];_start;run_all@app;wait4@libc.so.6;sleep:wait4;[app]" ASKS,
            "py waits in `run_all` for shard, which sleeps on purpose for 50.0 ms (100 %) in `scan`."},
        {"[bash];wait_for@bash;sleep:wait4;[sleep];clock_nanosleep@libc.so.6;sleep:clock_nanosleep",
            "bash waits for sleep, which sleeps on purpose for 50.0 ms (100 %) in `clock_nanosleep`."},
        {"[sh];sleep:wait4;[app];_start;take@app;pthread_join@libc.so.6;sleep:futex;[app];clone3@libc.so.6;ask@app;"
         "read@libc.so.6;sleep:read unix;[db];_start;scan@db;clock_nanosleep@libc.so.6;sleep:clock_nanosleep",
            "app waits in `take` for another of its threads; that one waits in `ask` for db, which sleeps on purpose "
            "for 50.0 ms (100 %) in `scan`."}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        first_says(rows[i].stack, WP_DELIBERATE_SLEEP, rows[i].want);
}

/* Who takes from a pool, and who gives back, run one function, wherever they are called from. */
static void a_pool_of_several_callers(void **state)
{
#define QUERIES                                                                                                        \
    "[py];clone3@libc.so.6;handler@app;query@app;recv@libc.so.6;sleep:recvfrom unix;[db];_start;scan@db;"              \
    "clock_nanosleep@libc.so.6;sleep:clock_nanosleep"
    static const struct {
        const char *stack, *want;
    } rows[] = {{"[py];_start;query@app;borrow@app;pthread_cond_wait@libc.so.6;sleep:futex;" QUERIES,
                    "py waits 50.0 ms (100 %) in `borrow`, until a thread of the same role goes on;"},
        {"[rb];_start;query@app;borrow@app;ppoll@libc.so.6;sleep:ppoll eventfd;[rb];clone3@libc.so.6;handler@app;"
         "query@app;poll@libc.so.6;sleep:poll unix;[db];_start;scan@db;clock_nanosleep@libc.so.6;sleep:clock_nanosleep",
            "rb waits 50.0 ms (100 %) in `borrow`, until a thread of the same role goes on;"},
        {"[py];_start;wait_all@app;pthread_cond_wait@libc.so.6;sleep:futex;" QUERIES,
            "py waits in `wait_all` for another of its threads; that one waits in `query` for db, which sleeps"},
        {"[rb];_start;block in <main>@q.rb;push@q.rb;ppoll@libc.so.6;sleep:ppoll eventfd;[rb];clone3@libc.so.6;"
         "block in <main>@q.rb;encode@q.rb;poll@libc.so.6;sleep:poll unix;[db];_start;scan@db;"
         "clock_nanosleep@libc.so.6;sleep:clock_nanosleep",
            "rb waits in `push` for another of its threads; that one waits in `encode` for db, which sleeps"},
        {"[node];_start;<anonymous>@q.js;take@q.js;pthread_cond_wait@libc.so.6;sleep:futex;[node];clone3@libc.so.6;"
         "<anonymous>@q.js;load@q.js;poll@libc.so.6;sleep:poll unix;[db];_start;scan@db;"
         "clock_nanosleep@libc.so.6;sleep:clock_nanosleep",
            "node waits in `take` for another of its threads; that one waits in `load` for db, which sleeps"}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        first_says(rows[i].stack, WP_DELIBERATE_SLEEP, rows[i].want);
}

/* A lock made of a semaphore may be a thread's end, and is the program's own wait all the same. */
static void a_lock_behind_a_lock(void **state)
{
#define TAKES(FUNCTION)                                                                                                \
    FUNCTION                                                                                                           \
    "@app;PyThread_acquire_lock_timed@python;__new_sem_wait_slow64@libc.so.6;sleep:futex;[py];clone3@libc.so.6;"
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    add(report,
        "[py];_start;" TAKES("lookup") TAKES("refresh") "flush@app;clock_nanosleep@libc.so.6;sleep:clock_nanosleep",
        WP_DELIBERATE_SLEEP, 50);
    build(&facts, report);
    assert_string_equal(facts.findings[0].sentence,
        "py waits for a lock in `lookup` until another of its threads releases it; that one waits 50.0 ms (100 %) for "
        "a lock in `refresh`; it is held during `clock_nanosleep` in `flush`. Lock held across I/O, certain: for 100 % "
        "of the wait its holder sleeps in `clock_nanosleep`.");
    each_time_is_told_once(&facts);
}

/* A client of an event loop asked over a connection of its own; who waits on an accepted one may have nothing to do. */
static void answers_that_others_are_busy_for(void **state)
{
    static const struct {
        const char *stack, *want;
    } rows[] = {{"[app];uv_run@app;epoll_pwait@libc.so.6;sleep:epoll_pwait tcp 10.0.0.7:80;tcp:10.0.0.7:80;path:[api]",
                    "app waits 50.0 ms (83 %) in `uv_run` for api, which is busy with other work."},
        {"[app];epoll_pwait@libc.so.6;sleep:epoll_pwait;tcp:10.0.0.7:80;path:[api]",
            "app waits 50.0 ms (83 %) for api, which is busy with other work."},
        {"[app];epoll_pwait@libc.so.6;sleep:epoll_pwait;tcp:10.0.0.7:80;for:[cron];path:[api]",
            "app waits 50.0 ms (83 %) for api, which is busy with work for cron."},
        {"[app];epoll_pwait@libc.so.6;sleep:epoll_pwait;tcp:10.0.0.7:*;path:[api]",
            "100 % of the time (60.0 ms) is app itself, which mostly waits for others that are busy."},
        {"[app];epoll_pwait@libc.so.6;sleep:epoll_pwait;path:[api]",
            "100 % of the time (60.0 ms) is app itself, which mostly waits for others that are busy."}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_trace *trace = wp_trace_create();
        struct wp_facts facts;
        bool is_said = false;
        add(report, rows[i].stack, WP_OTHER_PATH, 50);
        add(report, "[app];_start;main@app", WP_UNDERSTOOD_FUNCTIONS, 10);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, trace, NULL), 0);
        for (size_t f = 0; f < facts.finding_count; f++)
            is_said |= !strcmp(facts.findings[f].sentence, rows[i].want);
        if (!is_said)
            fail_msg("%zu: %s", i, facts.findings[0].sentence);
        each_time_is_told_once(&facts);
    }
}

/* Ruby limits a call's time with a thread that sleeps so long. */
static void a_time_limit(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    add(report,
        "[rb];_start;ask@/srv/a.rb;poll@libc.so.6;sleep:poll tcp 10.0.0.7:80;[rb];clone3@libc.so.6;block in "
        "timeout@/usr/lib/ruby/3.1.0/timeout.rb;ppoll@libc.so.6;sleep:ppoll eventfd",
        WP_DELIBERATE_SLEEP, 50);
    add(report, "[rb];_start;back_off@/srv/a.rb;ppoll@libc.so.6;sleep:ppoll eventfd", WP_DELIBERATE_SLEEP, 20);
    build(&facts, report);
    assert_string_equal(
        facts.findings[0].sentence, "rb waits 50.0 ms (71 %) until a timeout: `poll` on tcp 10.0.0.7:80 in `ask`.");
    assert_string_equal(facts.findings[1].sentence, "rb sleeps on purpose for 20.0 ms (29 %) in `back_off`.");
    each_time_is_told_once(&facts);
}

/* A call that may be for anything is told after the function that waits in it; a socket may have no name. */
static void calls_that_say_little(void **state)
{
    static const struct {
        const char *stack, *want;
    } rows[] = {{"[app];put;pthread_mutex_lock@libc.so.6;sleep:futex cache (app);[app];fetch@app;sleep:ppoll",
                    "for `cache` in `put`; it is held while `fetch` waits (`ppoll`)."},
        {"[app];put;pthread_mutex_lock@libc.so.6;sleep:futex cache (app);[app];fetch@app;sleep:fsync",
            "for `cache` in `put`; it is held during `fsync` in `fetch`."},
        {"[app];ask;read@libc.so.6;sleep:read unix;signal:SIGTERM", "in `read` on a unix socket, in `ask`: what"}};
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
        first_says(rows[i].stack, WP_UNACCOUNTED, rows[i].want);
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

/* It naps beside whatever the program does. */
static void naps_of_a_monitor_are_no_cause(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    add(report, "[shop];sleep:futex runtime.m0+0x148 (shop);[shop];runtime.sysmon@shop;sleep:nanosleep",
        WP_DELIBERATE_SLEEP, 90);
    add(report, "[shop];main.append;sleep:read;io:vda", WP_BLOCKING_IO, 60);
    build(&facts, report);
    assert_non_null(strstr(facts.findings[0].sentence, "shop waits 60.0 ms (40 %) for the disk"));
    wp_facts_fini(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_lock), cmocka_unit_test(a_ring), cmocka_unit_test(signals),
        cmocka_unit_test(processes_of_one_name_are_no_circle), cmocka_unit_test(locks_stand_between_threads),
        cmocka_unit_test(places), cmocka_unit_test(no_more_than_all_of_a_difference),
        cmocka_unit_test(what_an_interpreter_runs), cmocka_unit_test(requests_that_lie_unread),
        cmocka_unit_test(a_main_thread_that_waits_for_another), cmocka_unit_test(a_thread_between),
        cmocka_unit_test(programs_under_wrappers), cmocka_unit_test(a_pool_of_several_callers),
        cmocka_unit_test(a_lock_behind_a_lock), cmocka_unit_test(answers_that_others_are_busy_for),
        cmocka_unit_test(a_time_limit), cmocka_unit_test(calls_that_say_little),
        cmocka_unit_test(naps_of_a_monitor_are_no_cause)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
