/* SPDX-License-Identifier: Apache-2.0 */
/* What findings say of a process that serves requests: what a usual one consists of, whose waits are no idleness, and
 * how often it asks others for each. */
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
#include "storage/report/report_transactions.h"
#include "tests/reporter/sample.h"

#define MS 1000000u
#define PORT "tcp port 80"
#define ASKS "[web];list;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:5432;"
#define QUERY "query;recv@libc.so.6;sleep:recvfrom tcp 10.0.0.7:5432;"
#define LOOP "[web];loop;sleep:epoll_wait tcp :80;"
#define POOL "[web];handle@/srv/web.py;take@/srv/web.py;Condition.wait@/usr/lib/python3.11/threading.py;"
#define TAKE POOL "PyThread_acquire_lock_timed@python3.11;sem_wait@libc.so.6;sleep:futex;path:[web]"
#define IDLE                                                                                                           \
    "[web];serve@/srv/web.py;Condition.wait@/usr/lib/python3.11/"                                                      \
    "threading.py;PyThread_acquire_lock_timed@python3.11;sem_wait@libc.so.6;sleep:futex;path:[web]"

struct part {
    const char *who, *what;
    unsigned part;
    unsigned us;
};

static void add_requests(struct wp_report *report, unsigned count, const struct part *parts, size_t part_count)
{
    uint64_t ns = 0;
    for (size_t i = 0; i < part_count; i++)
        ns += parts[i].us * (uint64_t)1000;
    for (unsigned i = 0; i < count; i++) {
        wp_report_transaction(report, PORT, i, ns);
        for (size_t k = 0; k < part_count; k++)
            wp_report_transaction_part(report,
                &(struct wp_transaction_part){PORT, parts[k].who, parts[k].what, parts[k].part, wp_latency_bucket(ns),
                    parts[k].us * (uint64_t)1000});
    }
}

static void add(struct wp_report *report, const char *stack, enum wp_category category, uint64_t ms, uint64_t count)
{
    wp_report_add(report, sample_node(report, stack), category, ms * MS, count);
}

static const struct wp_finding *find(const struct wp_facts *facts, const char *kind)
{
    for (size_t i = 0; i < facts->finding_count; i++)
        if (!strcmp(facts->findings[i].kind, kind))
            return &facts->findings[i];
    return NULL;
}

/* 250 questions to a database, in so many requests that `who` serves. */
static struct wp_report *questions(unsigned requests, const char *who)
{
    struct wp_report *report = wp_report_create();
    add(report, ASKS "tcp:10.0.0.7:5432;[db];main;find", WP_UNDERSTOOD_FUNCTIONS, 90, 500);
    add(report, ASKS "sched:runnable", WP_SCHEDULER, 5, 250);
    add_requests(report, requests, &(struct part){who, "", WP_RUNNING_NOT_SAMPLED, 300}, 1);
    return report;
}

/* 250 questions: of a script, of a service for 240 requests, for 50, for 4. */
static void many_requests_are_many_for_each(void **state)
{
    static const struct {
        unsigned requests;
        const char *who, *key, *words;
    } cases[] = {{0, "web", "n_plus_one", "for tcp 10.0.0.7:5432 250 times, one after the other."},
        {240, "web", NULL, ""},
        {50, "web", "n_plus_one", "one after the other, 5 waits for each request on tcp port 80."},
        {4, "web", "n_plus_one", "one after the other, 63 waits for each request on tcp port 80."},
        {240, "web-thread-3", NULL, ""}, {4, "web › db", "n_plus_one", "63 waits for each request on tcp port 80."}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_report *report = questions(cases[i].requests, cases[i].who);
        struct wp_facts facts;
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        const struct wp_finding *found = find(&facts, "waiting");
        assert_non_null(found);
        assert_int_equal(found->pattern.key != NULL, cases[i].key != NULL);
        if (cases[i].key) {
            assert_string_equal(found->pattern.key, cases[i].key);
            assert_int_equal(found->pattern.sure, cases[i].requests == 50 ? WP_SURETY_POSSIBLE : WP_SURETY_LIKELY);
        }
        if (!strstr(found->sentence, cases[i].words))
            fail_msg("case %zu says: %s", i, found->sentence);
        wp_facts_fini(&facts);
    }
}

/* As above with what was counted of the questions: an answer that wakes often is no more than one, and a waking may be
 * for many; they are each on a connection of its own, or most of them. */
static void what_is_asked_is_counted(void **state)
{
    static const struct {
        unsigned requests, asks, opens;
        const char *key, *words;
    } cases[] = {{50, 4000, 0, "n_plus_one", "times, one after the other, 80 for each request on tcp port 80."},
        {50, 50, 0, NULL, ""},
        {50, 50, 45, "connection_each",
            "it opens a connection to tcp 10.0.0.7:5432 for each request on tcp port 80 (45 for "
            "50); a pool"},
        {50, 4000, 50, "n_plus_one", "80 for each request on tcp port 80."}, {50, 50, 30, NULL, ""},
        {0, 300, 300, "n_plus_one",
            "`list` asks db (tcp 10.0.0.7:5432) 300 times, one after the other, mostly on new connections."}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_report *report = questions(cases[i].requests, "web");
        struct wp_facts facts;
        wp_report_limit(report, WP_REPORT_ASKS "web" WP_REPORT_ASKED "tcp 10.0.0.7:5432", cases[i].asks, 0);
        wp_report_limit(report, WP_REPORT_ASKS "other" WP_REPORT_ASKED "tcp 10.0.0.7:5432", 7000, 0);
        if (cases[i].opens)
            wp_report_limit(report, WP_REPORT_OPENS "web" WP_REPORT_ASKED "tcp 10.0.0.7:5432", cases[i].opens, 0);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        const struct wp_finding *found = find(&facts, "waiting"), *opens = find(&facts, "connections");
        assert_non_null(found);
        if (!strstr(found->sentence, cases[i].words) || !found->pattern.key != !cases[i].key)
            fail_msg("case %zu says: %s", i, found->sentence);
        if (cases[i].key)
            assert_string_equal(found->pattern.key, cases[i].key);
        assert_int_equal(opens != NULL, cases[i].opens == 50); /* where the cause says something else */
        assert_int_equal(facts.limit_count, 0);
        wp_facts_fini(&facts);
    }
}

/* What opens a connection for each request and hardly waits for it is told besides, with the handshakes. */
static void new_connections_are_told_with_their_handshakes(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    add(report, "[web];handle;ngx_ssl_handshake@nginx;SSL_do_handshake@libssl.so.3;bn_mul@libcrypto.so.3",
        WP_UNDERSTOOD_FUNCTIONS, 30, 300);
    add(report, "[web];handle;render", WP_UNDERSTOOD_FUNCTIONS, 70, 700);
    add_requests(report, 200, &(struct part){"web", "", WP_RUNNING_NOT_SAMPLED, 300}, 1);
    wp_report_limit(report, WP_REPORT_OPENS "web" WP_REPORT_ASKED "tcp 10.0.0.8:443", 400, 0);
    wp_report_limit(report, WP_REPORT_ASKS "web" WP_REPORT_ASKED "tcp 10.0.0.8:443", 800, 0);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    const struct wp_finding *found = find(&facts, "connections");
    assert_non_null(found);
    assert_string_equal(found->sentence,
        "web opens 400 connections to tcp 10.0.0.8:443. A connection for each request, likely: it opens 2 connections "
        "to tcp 10.0.0.8:443 for each request on tcp port 80 (400 for 200), with TLS handshakes that take 30.0 ms "
        "(30 %) in `ngx_ssl_handshake`; a pool, or keep-alive, keeps them open.");
    wp_facts_fini(&facts);
}

/* Three different questions for each request, asked by one function that all of them are asked by. */
static void different_questions_are_not_many(void **state)
{
    static const char *const callers[] = {"load_cart", "load_profile", "check_stock"};
    (void)state;
    for (unsigned is_one = 0; is_one < 2; is_one++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        for (size_t i = 0; i < 3; i++) {
            char stack[200];
            snprintf(stack, sizeof(stack), "[web];serve;%s;" QUERY "tcp:10.0.0.7:5432;[db];main;find",
                callers[is_one ? 0 : i]);
            add(report, stack, WP_UNDERSTOOD_FUNCTIONS, 30, 200);
            snprintf(stack, sizeof(stack), "[web];serve;%s;" QUERY "sched:runnable", callers[is_one ? 0 : i]);
            add(report, stack, WP_SCHEDULER, 1, 100);
        }
        add_requests(report, 100, &(struct part){"web", "", WP_RUNNING_NOT_SAMPLED, 300}, 1);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        const struct wp_finding *found = find(&facts, "waiting");
        assert_non_null(found);
        assert_int_equal(found->pattern.key != NULL, is_one);
        wp_facts_fini(&facts);
    }
}

/* A small part of all threads' time, which mostly have nothing to do, and a good part of the requests. */
static void what_is_small_is_so_in_requests(void **state)
{
    (void)state;
    for (unsigned has_requests = 0; has_requests < 2; has_requests++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        add(report, ASKS "tcp:10.0.0.7:5432;[db];main;find", WP_UNDERSTOOD_FUNCTIONS, 90, 500);
        add(report, ASKS "sched:runnable", WP_SCHEDULER, 5, 250);
        add(report, "[web];idle;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 6000, 6);
        if (has_requests)
            add_requests(report, 4, &(struct part){"web", "", WP_RUNNING_NOT_SAMPLED, 200000}, 1);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        assert_int_equal(find(&facts, "waiting")->pattern.key != NULL, has_requests);
        wp_facts_fini(&facts);
    }
}

/* On its own port a server waits for what its clients want next. */
static void clients_are_not_asked(void **state)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    add(report, LOOP "tcp:10.0.0.9:*;[load];run;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, 900, 250);
    add(report, LOOP "sched:runnable", WP_SCHEDULER, 5, 250);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    assert_non_null(strstr(facts.findings[0].sentence, "web waits in `loop` for load"));
    for (size_t i = 0; i < facts.finding_count; i++)
        assert_true(!facts.findings[i].pattern.key || strcmp(facts.findings[i].pattern.key, "n_plus_one"));
    wp_facts_fini(&facts);
}

/* Two threads of one role: one waits until the other one puts back what it took for its query. */
static struct wp_trace *made_turns(void)
{
    static const char *const stacks[] = {TAKE, "[web];handle@/srv/web.py;query@/srv/web.py;poll@libc.so.6;sleep:poll"};
    struct wp_trace *trace = wp_trace_create();
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t node = sample_trace_node(trace, stacks[i]);
        assert_int_equal(wp_trace_add_thread(trace, &(struct wp_trace_thread){.tid = i, .is_base = 1}), 0);
        assert_int_equal(wp_trace_add_path(trace, &(struct wp_trace_path){.thread = i, .is_base = 1}), 0);
        for (uint64_t turn = 0; turn < 20; turn++) {
            struct wp_trace_piece piece = {i, node, turn * 80 * MS, 60 * MS, i ? WP_REMOTE_NOT_TRACED : WP_OTHER_PATH};
            struct wp_trace_link link = {WP_LINK_WAKING, 1, 0, piece.start_ns + 60 * MS, piece.start_ns + 61 * MS};
            assert_int_equal(wp_trace_add_piece(trace, &piece), 0);
            assert_int_equal(i ? 0 : wp_trace_add_link(trace, &link), 0);
        }
    }
    return trace;
}

/* A wait for own threads that a request waits is none for work: it stands first, and what it waits for is told. */
static void a_pool_that_requests_wait_for(void **state)
{
    static const struct part parts[] = {
        {"web", "take", WP_OTHER_PATH, 60000}, {"web", "query", WP_REMOTE_NOT_TRACED, 20000}};
    (void)state;
    for (unsigned has_requests = 0; has_requests < 2; has_requests++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        add(report, TAKE, WP_OTHER_PATH, 1200, 20);
        add(report, IDLE, WP_OTHER_PATH, 5000, 20);
        add(report, "[web];handle@/srv/web.py;query@/srv/web.py;poll@libc.so.6;sleep:poll;tcp:10.0.0.7:80",
            WP_REMOTE_NOT_TRACED, 400, 20);
        if (has_requests)
            add_requests(report, 20, parts, 2);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, made_turns(), NULL), 0);
        const char *first = facts.findings[0].sentence;
        if (has_requests && !strstr(first, "web waits 1.20 s (18 %) in `take`"))
            fail_msg("%s", first);
        assert_int_equal(has_requests != 0, facts.findings[0].pattern.key != NULL);
        if (has_requests)
            assert_string_equal(facts.findings[0].pattern.key, "pool_too_small");
        for (size_t i = 1; i < facts.finding_count; i++)
            assert_true(
                !has_requests || !strstr(facts.findings[i].sentence, "in `serve`") || !facts.findings[i].rank_ns);
        wp_facts_fini(&facts);
    }
}

/* A thread of java's waits so for another one. */
static void put_path(
    struct wp_report *report, const char *thread, const char *const *functions, const char *end, uint64_t ms)
{
    uint32_t at = wp_report_child(report, 0, wp_report_frame(report, WP_STYLE_PROCESS, thread, "java"));
    for (unsigned i = 0; functions[i]; i++)
        at = wp_report_child(
            report, at, wp_report_frame(report, WP_STYLE_USER, functions[i], i < 2 ? "Shop.java" : "libjvm.so"));
    at = wp_report_child(report, at, wp_report_frame(report, WP_STYLE_SLEEP, "sleep:futex", ""));
    at = wp_report_child(report, at, wp_report_frame(report, WP_STYLE_WAIT, end, ""));
    wp_report_add(report, at, WP_OTHER_PATH, ms * MS, 20);
}

/* Threads of a pool are one, whoever of them goes on; and a pause is none of theirs, whoever ends it. */
static void a_pool_of_threads_with_names(void **state)
{
    static const char *const borrow[] = {"Shop.pooled", "Shop.borrow", "Parker::park", NULL};
    static const char *const query[] = {"Shop.pooled", "Shop.query", "JavaThread::sleep", NULL};
    static const struct part parts[] = {{"pool-1-thread-1", "Shop.borrow", WP_OTHER_PATH, 60000},
        {"pool-1-thread-1", "Shop.query", WP_OTHER_PATH, 60000}};
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    (void)state;
    put_path(report, "[pool-1-thread-1]", borrow, "path:[pool-1-thread-2]", 300);
    put_path(report, "[pool-1-thread-2]", borrow, "path:[pool-1-thread-1]", 200);
    put_path(report, "[pool-1-thread-2]", query, "path:[pool-1-thread-1]", 400);
    add_requests(report, 20, parts, 2);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    const struct wp_finding *found = find(&facts, "other_path");
    assert_non_null(found);
    if (!strstr(found->sentence, "java waits 500 ms (56 %) in `Shop.borrow` for another of its threads."))
        fail_msg("%s", found->sentence);
    for (size_t i = 0; i < facts.finding_count; i++)
        assert_true(!strstr(facts.findings[i].sentence, "ms (44 %) in `Shop.query`") || !facts.findings[i].rank_ns);
    wp_facts_fini(&facts);
}

/* `idle_ms`: what a thread sleeps beside requests. */
static void is_usual(const struct part *parts, size_t count, const char *cause, unsigned idle_ms, const char *said)
{
    struct wp_report *report = wp_report_create();
    struct wp_facts facts;
    add(report, cause, WP_DELIBERATE_SLEEP, 300, 30);
    add(report, "[lb];tick;sleep:clock_nanosleep", WP_DELIBERATE_SLEEP, idle_ms, 1);
    add_requests(report, 30, parts, count);
    assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
    const struct wp_finding *found = find(&facts, "request");
    assert_int_equal(found != NULL, said != NULL);
    if (said && strcmp(found->sentence, said) != 0)
        fail_msg("%s", found->sentence);
    if (said)
        assert_ptr_equal(found, &facts.findings[0]);
    wp_facts_fini(&facts);
}

static void what_a_usual_request_consists_of(void **state)
{
    static const struct part queued[] = {{"lb", "run_loop", WP_OTHER_PATH, 154000},
        {"lb › web", "nap", WP_DELIBERATE_SLEEP, 50000}, {"lb", "", WP_RUNNING_NOT_SAMPLED, 16000}};
    static const struct part pooled[] = {{"pool-1-thread-1", "take", WP_OTHER_PATH, 20000},
        {"pool-1-thread-2", "take", WP_OTHER_PATH, 20000},
        {"pool-1-thread-2", "sched:behind [gzip]", WP_OTHER_PATH, 25000}, {"pool-1-thread-1", "", WP_SCHEDULER, 10000}};
    static const struct part busy[] = {
        {"web", "path:[redis-server]", WP_OTHER_PATH, 154000}, {"web", "", WP_RUNNING_NOT_SAMPLED, 16000}};
    static const struct part runs[] = {{"web", "", WP_UNDERSTOOD_FUNCTIONS, 40000}, {"web", "", WP_SCHEDULER, 10000}};
    static const struct part even[] = {{"web", "a", WP_OTHER_PATH, 20000}, {"web", "b", WP_OTHER_PATH, 20000},
        {"web", "c", WP_OTHER_PATH, 20000}, {"web", "d", WP_OTHER_PATH, 20000}, {"web", "e", WP_OTHER_PATH, 20000}};
    (void)state;
    is_usual(queued, 3, "[lb];run_loop;sleep:epoll_wait;tcp:10.0.0.7:80;[web];nap;sleep:clock_nanosleep", 0,
        "A usual request on tcp port 80 takes 220 ms: for 154 ms (70 %) lb is behind work for others in `run_loop`, "
        "for 50.0 ms (23 %) web sleeps on purpose in `nap`.");
    is_usual(pooled, 4, "[java];nap;sleep:clock_nanosleep", 0,
        "A usual request on tcp port 80 takes 75.0 ms: for 40.0 ms (53 %) pool-*-thread-* is behind work for others "
        "in `take`, for 35.0 ms (47 %) pool-*-thread-* is runnable and waits for a CPU.");
    is_usual(busy, 2, "[lb];nap;sleep:clock_nanosleep", 0,
        "A usual request on tcp port 80 takes 170 ms: for 154 ms (90.6 %) web waits for redis-server, which works for "
        "others.");
    /* A cause at the place of all that is told, or that is all of the total, says it, and so does what runs; where all
     * is a little nothing is to say. */
    is_usual(queued + 1, 1, "[lb];run_loop;sleep:epoll_wait;tcp:10.0.0.7:80;[web];nap;sleep:clock_nanosleep", 0, NULL);
    is_usual(
        queued + 1, 1, "[lb];run_loop;sleep:epoll_wait;tcp:10.0.0.7:80;[web];nap;sleep:clock_nanosleep", 200, NULL);
    is_usual(queued + 1, 2, "[lb];run_loop;sleep:epoll_wait;tcp:10.0.0.7:80;[web];nap;sleep:clock_nanosleep", 0, NULL);
    is_usual(runs, 2, "[web];nap;sleep:clock_nanosleep", 0, NULL);
    is_usual(even, 5, "[web];nap;sleep:clock_nanosleep", 0, NULL);
}

/* Whose work a server is busy with is said where most of it is for that one, and with what: the function of which what
 * it calls is most of its time. */
static void a_server_that_is_busy_with_others(void **state)
{
    static const struct {
        unsigned for_cron, for_mail, for_nobody;
        const char *words;
    } cases[] = {
        {60, 20, 20, "for redis, which is busy with work for cron; there `keys_command`, called from `call`, runs."},
        {50, 40, 45, "for redis, which is busy with other work; there `keys_command`, called from `call`, runs."}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct wp_report *report = wp_report_create();
        struct wp_facts facts;
        add(report, ASKS "tcp:10.0.0.7:5432;for:[cron];path:[redis]", WP_OTHER_PATH, cases[i].for_cron, 9);
        add(report, ASKS "tcp:10.0.0.7:5432;for:[mail];path:[redis]", WP_OTHER_PATH, cases[i].for_mail, 9);
        add(report, ASKS "tcp:10.0.0.7:5432;path:[redis]", WP_OTHER_PATH, cases[i].for_nobody, 9);
        add(report, "[redis];main;call;keys_command;dict_next", WP_UNDERSTOOD_FUNCTIONS, 40, 40);
        add(report, "[redis];main;call;keys_command;match", WP_UNDERSTOOD_FUNCTIONS, 30, 40);
        add(report, "[redis];main;call;keys_command", WP_UNDERSTOOD_FUNCTIONS, 20, 40);
        add(report, "[redis];main;call;get_command", WP_UNDERSTOOD_FUNCTIONS, 20, 40);
        assert_int_equal(wp_facts_build(&facts, "v1", "main", report, NULL, NULL), 0);
        const struct wp_finding *found = find(&facts, "other_path");
        assert_non_null(found);
        if (!strstr(found->sentence, cases[i].words))
            fail_msg("case %zu says: %s", i, found->sentence);
        wp_facts_fini(&facts);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(many_requests_are_many_for_each),
        cmocka_unit_test(what_is_asked_is_counted), cmocka_unit_test(new_connections_are_told_with_their_handshakes),
        cmocka_unit_test(different_questions_are_not_many), cmocka_unit_test(what_is_small_is_so_in_requests),
        cmocka_unit_test(clients_are_not_asked), cmocka_unit_test(a_pool_that_requests_wait_for),
        cmocka_unit_test(a_pool_of_threads_with_names), cmocka_unit_test(what_a_usual_request_consists_of),
        cmocka_unit_test(a_server_that_is_busy_with_others)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
