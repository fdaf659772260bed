/* SPDX-License-Identifier: Apache-2.0 */
/* What findings say of threads, by the window that is kept event by event: how many there are, for how long each
 * sleeps, herds, deadlocks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "reporter/findings/findings.h"
#include "reporter/load/facts_read.h"
#include "storage/report/report.h"
#include "tests/reporter/sample.h"

#define MS 1000000u
#define LOCK "update;pthread_mutex_lock@libc.so.6;sleep:futex table (app);"

/* Two threads of one role sleep on the lock, a third for something that has no name. */
static struct wp_trace *made_threads(void)
{
    static const char *const sleeps[] = {"sleep:futex table (app)", "sleep:futex table (app)", "sleep:futex"};
    struct wp_trace *trace = wp_trace_create();
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t node = 0;
        const struct {
            enum wp_frame_style style;
            const char *name, *object;
        } frames[] = {{WP_STYLE_PROCESS, "[app]", ""}, {WP_STYLE_USER, "worker", "/srv/app"},
            {WP_STYLE_USER, "update", "/srv/app"}, {WP_STYLE_SLEEP, sleeps[i], ""}};
        for (size_t at = 0; at < 4; at++)
            node = wp_trace_child(
                trace, node, wp_trace_frame(trace, frames[at].style, frames[at].name, frames[at].object));
        assert_int_equal(wp_trace_add_path(trace, &(struct wp_trace_path){.thread = 0, .is_base = 1}), 0);
        for (unsigned piece = 0; piece < 2; piece++)
            assert_int_equal(wp_trace_add_piece(trace, &(struct wp_trace_piece){i, node, piece, 1, WP_OTHER_PATH}), 0);
    }
    return trace;
}

static void threads_are_counted_in_the_window(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    wp_report_add(report,
        sample_node(report, "[app];worker;update;pthread_mutex_lock@libc.so.6;sleep:futex table (app)"), WP_OTHER_PATH,
        90 * MS, 9);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, made_threads(), NULL), 0);
    assert_int_equal(facts.findings[0].threads, 2);
    assert_non_null(strstr(facts.findings[0].sentence, "in `update`, in 2 threads of `worker`"));
    wp_facts_fini(&facts);
    /* Where the place is not known, the lock's name tells; any thread may sleep in a call. */
    static const char *const stacks[] = {"[app];sleep:futex table (app)", "[app];usleep@libc.so.6;sleep:futex"};
    for (size_t i = 0; i < 2; i++) {
        report = wp_report_create();
        wp_report_add(report, sample_node(report, stacks[i]), i ? WP_DELIBERATE_SLEEP : WP_OTHER_PATH, 90 * MS, 9);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, made_threads(), NULL), 0);
        assert_int_equal(facts.findings[0].threads, i ? 0 : 2);
        assert_int_equal(strstr(facts.findings[0].sentence, "in 2 threads") != NULL, !i);
        wp_facts_fini(&facts);
    }
}

static void a_thread_that_keeps_timers_does_not_poll(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    wp_report_add(report, sample_node(report, "[java];main;close;sleep:futex;[VirtualThread-u];park;sleep:futex"),
        WP_DELIBERATE_SLEEP, 90 * MS, 45);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    assert_string_equal(facts.findings[0].sentence,
        "java waits in `close` for VirtualThread-u, which waits 90.0 ms (100 %) for timers of virtual threads, "
        "45 times, 2.00 ms on average; whose they are is not known.");
    wp_facts_fini(&facts);
}

/* By the thread that is waited for, if it has a name of its own; who holds an interpreter's lock runs. */
static void a_lock_that_a_thread_on_its_own_path_holds(void **state)
{
    static const struct {
        const char *waits, *runs, *sleeps, *says;
    } cases[] = {{"[ruby];reset@client.rb;gvl_acquire@libruby-3.1.so;rb_native_cond_wait@libruby-3.1.so;"
                  "pthread_cond_wait@libc.so.6;sleep:futex;path:[hog]",
                     "[hog];score@hog.ru", "[hog];sched:preempted;sched:behind [cc1]",
                     "for the GVL in `reset`; it is held while `score` runs."},
        {"[python3];<module>@app.py;pthread_cond_timedwait@libc.so.6;sleep:futex GIL (python3.11);path:[python3]",
            "[python3];tokenize@app.py", "[python3];serve@app.py;sleep:poll",
            "for the GIL in `<module>`; it is held while `tokenize` runs."}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        wp_report_add(report, sample_node(report, cases[i].waits), WP_OTHER_PATH, 90 * MS, 30);
        wp_report_add(report, sample_node(report, cases[i].runs), WP_UNDERSTOOD_FUNCTIONS, 40 * MS, 40);
        wp_report_add(report, sample_node(report, cases[i].sleeps), i ? WP_TIMEOUT : WP_INVOLUNTARY, 60 * MS, 60);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        assert_non_null(strstr(facts.findings[0].sentence, cases[i].says));
        wp_facts_fini(&facts);
    }
}

static void the_timers_of_a_virtual_thread_are_its_sleeps(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    wp_report_add(report,
        sample_node(report,
            "[java];main;close;sleep:futex;[VirtualThread-u];task fetch;java.lang.VirtualThread.run;backoff;"
            "sleep:futex"),
        WP_DELIBERATE_SLEEP, 90 * MS, 45);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    assert_non_null(strstr(facts.findings[0].sentence, "sleeps on purpose for 90.0 ms (100 %) in `backoff`"));
    wp_facts_fini(&facts);
}

/* Sleeps of those lengths, one after the other, with `break_ms` between them. */
static struct wp_trace *made_sleeps(const uint32_t *lengths_ms, uint32_t break_ms)
{
    static const struct {
        enum wp_frame_style style;
        const char *name;
    } frames[] = {{WP_STYLE_PROCESS, "[app]"}, {WP_STYLE_USER, "nap"}, {WP_STYLE_SLEEP, "sleep:clock_nanosleep"}};
    struct wp_trace *trace = wp_trace_create();
    uint32_t node = 0;
    uint64_t at_ns = 0;
    for (size_t i = 0; i < 3; i++)
        node = wp_trace_child(trace, node, wp_trace_frame(trace, frames[i].style, frames[i].name, ""));
    assert_int_equal(wp_trace_add_path(trace, &(struct wp_trace_path){.thread = 0, .is_base = 1}), 0);
    for (size_t i = 0; lengths_ms[i]; i++) {
        struct wp_trace_piece piece = {0, node, at_ns, lengths_ms[i] * (uint64_t)MS, WP_DELIBERATE_SLEEP};
        assert_int_equal(wp_trace_add_piece(trace, &piece), 0);
        at_ns += piece.length_ns + break_ms * (uint64_t)MS;
    }
    return trace;
}

/* Two threads take turns: one bills under the lock that the other one sleeps with, for 60 ms of 80 each time. A third
 * sleeps as long at another place, and nobody waits for it. */
static struct wp_trace *made_turns(void)
{
    static const struct {
        uint32_t thread;
        enum wp_category category;
        const char *names[4];
    } stacks[] = {{0, WP_OTHER_PATH, {"bill", "PyThread_acquire_lock_timed", "sem_wait", "sleep:futex"}},
        {1, WP_DELIBERATE_SLEEP, {"audit_all", "time_sleep", "clock_nanosleep", "sleep:clock_nanosleep"}},
        {2, WP_DELIBERATE_SLEEP, {"tick", "time_sleep", "clock_nanosleep", "sleep:clock_nanosleep"}}};
    struct wp_trace *trace = wp_trace_create();
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t node = wp_trace_child(trace, 0, wp_trace_frame(trace, WP_STYLE_PROCESS, "[python3]", ""));
        for (size_t at = 0; at < 4; at++)
            node = wp_trace_child(trace, node,
                wp_trace_frame(trace, at == 3 ? WP_STYLE_SLEEP : WP_STYLE_USER, stacks[i].names[at],
                    at ? "libpython3.so" : "/srv/shop.py"));
        if (!i)
            node = wp_trace_child(trace, node, wp_trace_frame(trace, WP_STYLE_WAIT, "path:[python3]", ""));
        assert_int_equal(wp_trace_add_thread(trace, &(struct wp_trace_thread){.tid = i, .is_base = 1}), 0);
        assert_int_equal(wp_trace_add_path(trace, &(struct wp_trace_path){.thread = i, .is_base = 1}), 0);
        for (uint64_t turn = 0; turn < 20; turn++) {
            struct wp_trace_piece piece = {i, node, turn * 80 * MS, 60 * MS, stacks[i].category};
            struct wp_trace_link link = {WP_LINK_WAKING, 1, 0, piece.start_ns + 60 * MS, piece.start_ns + 61 * MS};
            assert_int_equal(wp_trace_add_piece(trace, &piece), 0);
            assert_int_equal(i ? 0 : wp_trace_add_link(trace, &link), 0);
        }
    }
    return trace;
}

/* A mean says nothing of each; what belongs to one sleep is one, and what is left of one is none. */
static void sleeps_are_measured_in_the_window(void **state)
{
    static const struct {
        uint32_t lengths_ms[6], break_ms;
        const char *words;
    } cases[] = {{{30, 31, 29}, 1, "in `nap`, 3 times, 30.0 ms each."},
        {{10, 70, 10}, 1, "in `nap`, 3 times, up to 70.0 ms."},
        {{43, 1, 44, 1, 1}, 1, "in `nap`, 2 times, 44.0 ms each."}, {{40, 20, 30}, 0, "in `nap`."},
        {{30, 30}, 1, "in `nap`, 9 times, 10.0 ms on average."}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        wp_report_add(report, sample_node(report, "[app];nap;sleep:clock_nanosleep"), WP_DELIBERATE_SLEEP, 90 * MS, 9);
        struct wp_trace *trace = made_sleeps(cases[i].lengths_ms, cases[i].break_ms);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, trace, NULL), 0);
        if (!strstr(facts.findings[0].sentence, cases[i].words))
            fail_msg("case %zu says: %s", i, facts.findings[0].sentence);
        wp_facts_fini(&facts);
    }
}

static const struct wp_finding *finding_of(const struct wp_facts *facts, const char *function)
{
    for (size_t i = 0; i < facts->finding_count; i++)
        if (facts->findings[i].function && !strcmp(facts->findings[i].function, function))
            return &facts->findings[i];
    fail_msg("nothing is said of %s", function);
    return NULL;
}

/* The wait is told with its place, and who has the lock; its sleep, which is waited for, is no polling. */
static void a_thread_waits_for_another(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    wp_report_add(report,
        sample_node(report,
            "[python3];bill@/srv/shop.py;PyThread_acquire_lock_timed@libpython3.so;sem_wait@libpython3.so;"
            "sleep:futex;path:[python3]"),
        WP_OTHER_PATH, 1200 * (uint64_t)MS, 20);
    wp_report_add(report, sample_node(report, "[python3];audit_all@/srv/shop.py;sleep:clock_nanosleep"),
        WP_DELIBERATE_SLEEP, 1210 * (uint64_t)MS, 20);
    wp_report_add(report, sample_node(report, "[python3];tick@/srv/shop.py;sleep:clock_nanosleep"), WP_DELIBERATE_SLEEP,
        1210 * (uint64_t)MS, 20);
    wp_report_add(report,
        sample_node(report, "[python3];main@/srv/shop.py;pthread_join@libc.so.6;sleep:futex;path:[python3]"),
        WP_OTHER_PATH, 1600 * (uint64_t)MS, 1);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, made_turns(), NULL), 0);
    assert_string_equal(facts.findings[0].sentence,
        "python3 waits 1.20 s (23 %) in `bill` for another of its threads; that one is meanwhile in "
        "`clock_nanosleep` in `audit_all`.");
    assert_string_equal(facts.findings[0].kind, "other_path");
    assert_null(finding_of(&facts, "audit_all")->pattern.key);
    assert_string_equal(finding_of(&facts, "tick")->pattern.key, "polling");
    /* Who waits for the end of threads is told last. */
    assert_string_equal(facts.findings[facts.finding_count - 1].sentence,
        "python3 waits 1.60 s (31 %) in `main` for another of its threads.");
    wp_facts_fini(&facts);
}

/* A thread that has nearly all of a cause is named, whoever has the rest. */
static void a_thread_of_nearly_all_is_named(void **state)
{
    static const struct {
        uint64_t other_ms;
        const char *sentence;
    } cases[] = {
        {2, "java's thread idle-timeout sleeps on purpose for 2.80 s"}, {802, "java sleeps on purpose for 3.60 s"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        wp_report_add(report, sample_node(report, "[java];main;sleep:futex"), WP_UNDERSTOOD_FUNCTIONS, 1, 1);
        wp_report_add(report, sample_node(report, "[idle-timeout]@java;sleep:futex"), WP_DELIBERATE_SLEEP,
            2798 * (uint64_t)MS, 1);
        wp_report_add(report, sample_node(report, "[pool-1-thread-1]@java;sleep:futex"), WP_DELIBERATE_SLEEP,
            cases[i].other_ms * MS, 1);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        if (strncmp(facts.findings[0].sentence, cases[i].sentence, strlen(cases[i].sentence)) != 0)
            fail_msg("case %zu says: %s", i, facts.findings[0].sentence);
        wp_facts_fini(&facts);
    }
}

/* However many threads wait for work, what the others do is told. */
static void idle_threads_take_no_room(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    for (char name = 'a'; name < 'k'; name++) {
        char stack[80];
        snprintf(stack, sizeof(stack), "[app];take_%c;pthread_cond_wait@libc.so.6;sleep:futex;path:[app]", name);
        wp_report_add(report, sample_node(report, stack), WP_OTHER_PATH, 90 * MS, 9);
    }
    wp_report_add(report, sample_node(report, "[app];save;usleep@libc.so.6;sleep:clock_nanosleep"), WP_DELIBERATE_SLEEP,
        9 * MS, 1);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    assert_string_equal(facts.findings[0].sentence, "app sleeps on purpose for 9.00 ms (1.0 %) in `save`.");
    assert_int_equal(facts.finding_count, 7);
    wp_facts_fini(&facts);
}

/* Four threads have a lock for 10 ms each, one after the other, and are woken with it. */
static struct wp_trace *made_queue(const char *wait, const char *work)
{
    struct wp_trace *trace = wp_trace_create();
    uint32_t waits = sample_trace_node(trace, wait), works = sample_trace_node(trace, work);
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t from = i * (uint64_t)10 * MS;
        assert_int_equal(wp_trace_add_thread(trace, &(struct wp_trace_thread){.tid = i, .is_base = 1}), 0);
        assert_int_equal(wp_trace_add_path(trace, &(struct wp_trace_path){.thread = i, .is_base = 1}), 0);
        assert_int_equal(
            wp_trace_add_piece(trace, &(struct wp_trace_piece){i, works, from, 10 * MS, WP_DELIBERATE_SLEEP}), 0);
        if (!i)
            continue;
        assert_int_equal(wp_trace_add_piece(trace, &(struct wp_trace_piece){i, waits, 0, from, WP_OTHER_PATH}), 0);
        assert_int_equal(wp_trace_add_link(trace, &(struct wp_trace_link){WP_LINK_WAKING, i - 1, i, from, from}), 0);
    }
    return trace;
}

/* The stacks of a lock need not have who holds it: the window has. Three wait one behind the other, perhaps in the same
 * call that the holder naps in. */
static void a_lock_is_held_by_who_wakes(void **state)
{
    static const char *const rows[][3] = {
        {"[app];update;pthread_mutex_lock@libc.so.6;sleep:futex table (app)", "[app];update;publish;sleep:fsync",
            "app waits 60.0 ms (60 %) for `table` in `update`, in 3 threads; it is held during `fsync` in `publish`. "
            "Lock held across I/O, certain: for 100 % of the wait its holder sleeps in `fsync`."},
        {"[app];insert;ObjectMonitor::enter@libjvm.so;pthread_cond_wait@libc.so.6;sleep:futex",
            "[app];insert;java.lang.Thread.sleep@libjvm.so;pthread_cond_timedwait@libc.so.6;sleep:futex",
            "app waits 60.0 ms (60 %) for a monitor in `insert`, in 4 threads; it is held during "
            "`java.lang.Thread.sleep` in `insert`. Lock held across I/O, certain: for 100 % of the wait its holder "
            "sleeps in `java.lang.Thread.sleep`."}};
    (void)state;
    for (size_t i = 0; i < 2; i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        wp_report_add(report, sample_node(report, rows[i][0]), WP_OTHER_PATH, 60 * MS, 3);
        wp_report_add(report, sample_node(report, rows[i][1]), WP_DELIBERATE_SLEEP, 40 * MS, 4);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, made_queue(rows[i][0], rows[i][1]), NULL), 0);
        assert_string_equal(facts.findings[0].sentence, rows[i][2]);
        wp_facts_fini(&facts);
    }
}

/* Neither a herd nor a convoy, however often they meet. */
static void two_threads_are_no_crowd(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    wp_report_add(report,
        sample_node(report,
            "[app];worker;" LOCK "[app];worker;take;pthread_cond_wait@libc.so.6;__pthread_mutex_cond_lock@libc.so.6;"
            "sleep:futex table (app);[app];worker;take;look"),
        WP_UNDERSTOOD_FUNCTIONS, 90 * MS, 400);
    wp_report_add(report, sample_node(report, "[app];worker;" LOCK "sched:runnable"), WP_SCHEDULER, 2 * MS, 200);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, made_threads(), NULL), 0);
    assert_int_equal(facts.findings[0].threads, 2);
    assert_non_null(strstr(facts.findings[0].sentence, "200 times"));
    assert_null(facts.findings[0].pattern.key);
    wp_facts_fini(&facts);
}

/* Between waits the thread naps in the function that takes the lock. */
static uint32_t nap_of(struct wp_trace *trace, uint32_t place)
{
    uint32_t node = wp_trace_child(trace, place, wp_trace_frame(trace, WP_STYLE_USER, "nanosleep", "libc.so.6"));
    return wp_trace_child(trace, node, wp_trace_frame(trace, WP_STYLE_SLEEP, "sleep:nanosleep", ""));
}

/* A thread each that waits for a lock to the end, at that place; where it naps each `nap_ms`, it gets it each time. */
static struct wp_trace *stuck_threads(const char *const *places, uint64_t from_ms, uint64_t nap_ms)
{
    struct wp_trace *trace = wp_trace_create();
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t node = 0, place = 0;
        const struct {
            enum wp_frame_style style;
            const char *name, *object;
        } frames[] = {{WP_STYLE_PROCESS, "[java]", ""}, {WP_STYLE_USER, places[i], "Ledger.java"},
            {WP_STYLE_USER, "ObjectMonitor::enter", "libjvm.so"}, {WP_STYLE_USER, "pthread_cond_wait", "libc.so.6"},
            {WP_STYLE_SLEEP, "sleep:futex", ""}};
        for (size_t at = 0; at < 5; at++) {
            node = wp_trace_child(
                trace, node, wp_trace_frame(trace, frames[at].style, frames[at].name, frames[at].object));
            place = at == 1 ? node : place;
        }
        assert_int_equal(wp_trace_add_path(trace, &(struct wp_trace_path){.thread = 0, .is_base = 1}), 0);
        for (uint64_t ms = from_ms; ms < 4000; ms += nap_ms ? nap_ms : 4000) {
            struct wp_trace_piece piece = {
                i, node, ms * MS, (nap_ms ? nap_ms - 2 : 4000 - from_ms) * (uint64_t)MS, WP_OTHER_PATH};
            assert_int_equal(wp_trace_add_piece(trace, &piece), 0);
            piece = (struct wp_trace_piece){
                i, nap_of(trace, place), (ms + nap_ms - 2) * MS, 2 * (uint64_t)MS, WP_DELIBERATE_SLEEP};
            if (nap_ms)
                assert_int_equal(wp_trace_add_piece(trace, &piece), 0);
        }
    }
    trace->length_ns = 4000 * (uint64_t)MS;
    return trace;
}

/* Locks of languages do not say who holds them. A pool's threads wait at one place, and others not as long; or get the
 * lock again and again. */
static void threads_may_be_stuck(void **state)
{
    static const struct {
        const char *places[2];
        uint64_t from_ms, nap_ms;
    } cases[] = {{{"transfer", "report"}, 100, 0}, {{"take", "take"}, 100, 0}, {{"transfer", "report"}, 3500, 0},
        {{"transfer", "report"}, 100, 130}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        wp_report_add(
            report, sample_node(report, "[java];main;join;sleep:futex"), WP_DELIBERATE_SLEEP, 4000 * (uint64_t)MS, 1);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report,
                             stuck_threads(cases[i].places, cases[i].from_ms, cases[i].nap_ms), NULL),
            0);
        bool is_told = strstr(facts.findings[0].sentence, "2 threads of java wait for locks that nobody releases");
        assert_int_equal(is_told, !i);
        if (is_told)
            assert_non_null(
                strstr(facts.findings[0].sentence, "`transfer` (Ledger.java) 3.90 s, `report` (Ledger.java) 3.90 s"));
        wp_facts_fini(&facts);
    }
}

/* Tokens in a pipe go from thread to thread; what a shell reads its own child has printed. */
static void a_pool_has_threads(void **state)
{
    (void)state;
    for (uint32_t threads = 1; threads <= 2; threads++) {
        struct wp_report *report = wp_report_create();
        struct wp_trace *trace = wp_trace_create();
        struct wp_facts facts;
        wp_report_add(report,
            sample_node(
                report, "[app];work;take;read@libc.so.6;sleep:read pipe;[app];work;run;wait4@libc.so.6;sleep:wait4"),
            WP_DELIBERATE_SLEEP, 90 * MS, 9);
        for (uint32_t i = 0; i < 2; i++)
            assert_int_equal(wp_trace_add_thread(trace,
                                 &(struct wp_trace_thread){.comm = wp_trace_string(trace, "app"),
                                     .pid = threads == 2 ? 7 : 7 + i,
                                     .tid = 7 + i,
                                     .is_base = threads == 2 || !i}),
                0);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, trace, NULL), 0);
        const char *key = facts.findings[0].pattern.key;
        assert_int_equal(key && !strcmp(key, "pool_too_small"), threads == 2);
        wp_facts_fini(&facts);
    }
}

/* Threads of a server beside the one that asks. */
static struct wp_trace *made_servers(uint32_t count)
{
    struct wp_trace *trace = wp_trace_create();
    for (uint32_t i = 0; i <= count; i++)
        assert_int_equal(wp_trace_add_thread(trace,
                             &(struct wp_trace_thread){
                                 .comm = wp_trace_string(trace, i ? "web" : "app"), .tid = i + 1, .is_base = !i}),
            0);
    return trace;
}

/* Each answer sets many going, who are not waited for; a helper that each sets going is no herd, and few threads that
 * run often are none. */
static void a_herd_is_set_going(void **state)
{
    static const struct {
        uint64_t runs;
        uint32_t servers; /* 0: no window was kept */
        bool is_herd;
        uint64_t run_ms; /* of the program's own: 20 times the herd's time stands before it */
    } cases[] = {{2000, 0, true, 0}, {200, 0, false, 0}, {2000, 18, true, 0}, {2000, 10, false, 0}, {600, 5, false, 0},
        {2000, 60, false, 0}, /* threads of a connection each */
        {2000, 18, false, 7000}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_report *report = wp_report_create(), *work = wp_report_detached_add(report);
        struct wp_facts facts;
        wp_report_add(
            report, sample_node(report, "[app];ask;sched:preempted;sched:behind [web]"), WP_INVOLUNTARY, 300 * MS, 10);
        wp_report_add(report, sample_node(report, "[app];ask;sleep:read tcp 10.0.0.7:80;sched:runnable"), WP_SCHEDULER,
            100 * MS, 100);
        wp_report_add(report, sample_node(report, "[app];sum"), WP_UNDERSTOOD_FUNCTIONS, cases[i].run_ms * MS, 10);
        uint32_t at = sample_node(work, "[app];ask");
        at = wp_report_child(work, at, wp_report_frame(work, WP_STYLE_WAIT, "starts:waking", ""));
        at = wp_report_child(work, at, wp_report_frame(work, WP_STYLE_PROCESS, "[web]", ""));
        at = wp_report_child(work, at, wp_report_frame(work, WP_STYLE_USER, "wait_connection", "web"));
        wp_report_add(work, at, WP_RUNNING_NOT_SAMPLED, 700 * MS, cases[i].runs);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report,
                             cases[i].servers ? made_servers(cases[i].servers) : NULL, NULL),
            0);
        const char *key = facts.findings[0].pattern.key;
        assert_int_equal(key && !strcmp(key, "thundering_herd"), cases[i].is_herd);
        assert_int_equal(
            strstr(facts.findings[0].sentence, "20 times, in `wait_connection`") != NULL, cases[i].is_herd);
        wp_facts_fini(&facts);
    }
}

/* Other sleeps cut off what is waited for of a long one: it is one, and as long as it is. */
static void pieces_of_one_sleep(void **state)
{
    static const struct {
        uint32_t lengths_ms[4];
        struct wp_trace_sleep sleep;
        const char *words;
    } cases[] = {{{30, 40, 20}, {0, 0, WP_DELIBERATE_SLEEP, 0, 95 * MS}, "in `nap`."},
        {{10, 60, 20}, {0, 0, WP_DELIBERATE_SLEEP, 5 * MS, 66 * MS}, "in `nap`, 3 times, up to 66.0 ms."},
        {{10, 60, 20}, {0, 0, WP_TIMEOUT, 0, 95 * MS}, "in `nap`, 3 times, up to 60.0 ms."}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        struct wp_trace_sleep sleep = cases[i].sleep;
        wp_report_add(report, sample_node(report, "[app];nap;sleep:clock_nanosleep"), WP_DELIBERATE_SLEEP, 90 * MS, 9);
        struct wp_trace *trace = made_sleeps(cases[i].lengths_ms, 1);
        sleep.label = wp_trace_string(trace, "nap");
        assert_int_equal(wp_trace_add_sleep(trace, &sleep), 0);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, trace, NULL), 0);
        if (!strstr(facts.findings[0].sentence, cases[i].words))
            fail_msg("%zu: %s", i, facts.findings[0].sentence);
        wp_facts_fini(&facts);
    }
}

/* Two sleeps are of two threads at most, however many slept there. */
static void more_threads_than_sleeps(void **state)
{
    (void)state;
    for (unsigned count = 2; count < 4; count++) {
        struct wp_report *report = wp_report_create();
        struct wp_trace *trace = wp_trace_create();
        struct wp_facts facts;
        uint32_t node = sample_trace_node(trace, "[app];work@app;nap@app;sleep:clock_nanosleep");
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(wp_trace_add_path(trace, &(struct wp_trace_path){.thread = 0, .is_base = 1}), 0);
            assert_int_equal(
                wp_trace_add_piece(trace, &(struct wp_trace_piece){i, node, 0, 1, WP_DELIBERATE_SLEEP}), 0);
        }
        wp_report_add(report, sample_node(report, "[app];work@app;nap@app;sleep:clock_nanosleep"), WP_DELIBERATE_SLEEP,
            90 * MS, count);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, trace, NULL), 0);
        assert_int_equal(strstr(facts.findings[0].sentence, "in 3 threads") != NULL, count == 3);
        wp_facts_fini(&facts);
    }
}

/* A thread that the scheduler prefers, and one that runs beside it at times. */
static void who_of_the_own_threads_ran(void **state)
{
    static const struct {
        uint64_t second_ms;
        const char *words;
    } cases[] = {{30, "is lost to preemption: own thread encoder 90.0 ms."},
        {90, "is lost to preemption: own threads 90.0 ms."}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        static const char *const stack = "[app];work@app;sched:preempted;sched:behind own threads";
        struct wp_report *report = wp_report_create();
        struct wp_trace *trace = wp_trace_create();
        struct wp_facts facts;
        uint32_t node = sample_trace_node(trace, stack);
        static const char *const names[] = {"app", "encoder", "logger"};
        for (uint32_t t = 0; t < 3; t++) {
            struct wp_trace_thread thread = {
                .comm = wp_trace_string(trace, names[t]), .pid = 7, .tid = 7 + t, .is_base = 1};
            struct wp_trace_run run = {.thread = t, .length_ns = (t == 2 ? cases[i].second_ms : t * 95) * MS};
            assert_int_equal(wp_trace_add_thread(trace, &thread), 0);
            assert_int_equal(t ? wp_trace_add_run(trace, &run) : 0, 0);
        }
        assert_int_equal(wp_trace_add_path(trace, &(struct wp_trace_path){.thread = 0, .is_base = 1}), 0);
        for (uint64_t at = 0; at < 3; at++) {
            struct wp_trace_piece piece = {0, node, at * 30 * MS, 30 * MS, WP_INVOLUNTARY};
            assert_int_equal(wp_trace_add_piece(trace, &piece), 0);
        }
        wp_report_add(report, sample_node(report, stack), WP_INVOLUNTARY, 90 * MS, 3);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, trace, NULL), 0);
        if (!strstr(facts.findings[0].sentence, cases[i].words))
            fail_msg("%zu: %s", i, facts.findings[0].sentence);
        wp_facts_fini(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_are_counted_in_the_window),
        cmocka_unit_test(pieces_of_one_sleep), cmocka_unit_test(more_threads_than_sleeps),
        cmocka_unit_test(who_of_the_own_threads_ran), cmocka_unit_test(sleeps_are_measured_in_the_window),
        cmocka_unit_test(a_thread_waits_for_another), cmocka_unit_test(a_thread_of_nearly_all_is_named),
        cmocka_unit_test(a_lock_is_held_by_who_wakes), cmocka_unit_test(idle_threads_take_no_room),
        cmocka_unit_test(two_threads_are_no_crowd), cmocka_unit_test(threads_may_be_stuck),
        cmocka_unit_test(a_pool_has_threads), cmocka_unit_test(a_lock_that_a_thread_on_its_own_path_holds),
        cmocka_unit_test(a_thread_that_keeps_timers_does_not_poll),
        cmocka_unit_test(the_timers_of_a_virtual_thread_are_its_sleeps), cmocka_unit_test(a_herd_is_set_going)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
