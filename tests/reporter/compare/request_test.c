/* SPDX-License-Identifier: Apache-2.0 */
/* Services whose requests are known: what one consists of is compared, idle threads and pauses of clients are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/compare/compare.h"
#include "reporter/compare/compare_findings.h"
#include "reporter/compare/compare_notices.h"
#include "reporter/load/facts_read.h"
#include "storage/report/report_series.h"
#include "storage/report/report_transactions.h"
#include "tests/reporter/compare/made_noise.h"
#include "tests/reporter/sample.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define MS 1000000ull
#define START (1790000000ull * 1000 * MS)
#define LATER (3600000ull * MS)
#define RECORDED_MS 6000.0
#define WORKERS 6u
#define SERVICE "tcp port 80"
#define DATABASE "tcp 10.0.0.2:5432"
#define LOOP "[web];start_thread@libc.so.6;loop@web;epoll_wait@libc.so.6;sleep:epoll_wait tcp :80"
#define WORKER "[web];start_thread@libc.so.6;_worker@/usr/lib/python3.11/concurrent/futures/thread.py"
#define HANDLE WORKER ";checkout@/srv/shop.py"
#define QUERY HANDLE ";find_orders@/srv/shop.py;recv@libc.so.6;sleep:recv tcp 10.0.0.2:5432"
#define FUTEX "PyThread_acquire_lock_timed@python3.11;__new_sem_wait_slow64@libc.so.6;sleep:futex"
#define QUEUE WORKER ";simplequeue_get@/usr/lib/python3.11/lib-dynload/_queue.cpython-311.so;" FUTEX ";path:[web]"

#define POOL                                                                                                           \
    HANDLE ";take_connection@/srv/shop.py;Queue.get@/usr/lib/python3.11/queue.py;Condition.wait@/usr/lib/python3.11/"  \
           "threading.py;" FUTEX ";path:[web]"

enum part { RUN, UNSAMPLED, SLEEP, PARSE, EXECUTE, TURN, CACHE, PARTS };

/* What a request consists of, and how it differs from one to the next (standard deviation, of itself). */
static const struct {
    const char *stack, *who;
    enum wp_category category;
    double ms, spread;
} parts[PARTS] = {{HANDLE ";price_items@/srv/shop.py", "web", WP_UNDERSTOOD_FUNCTIONS, 1.2, 0.2},
    {"[web]", "web", WP_RUNNING_NOT_SAMPLED, 0.8, 0.2},
    {HANDLE ";write_audit@/srv/shop.py;clock_nanosleep@libc.so.6;sleep:clock_nanosleep", "web", WP_DELIBERATE_SLEEP,
        0.5, 0.05},
    {QUERY ";[postgres];main@postgres;exec_simple_query@postgres;pg_parse@postgres", "web › postgres",
        WP_UNDERSTOOD_FUNCTIONS, 0.4, 0.3},
    {QUERY ";[postgres];main@postgres;exec_simple_query@postgres", "web › postgres", WP_UNDERSTOOD_FUNCTIONS, 0.6, 0.3},
    {HANDLE ";write_audit@/srv/shop.py;" FUTEX ";path:[web]", "web", WP_OTHER_PATH, 0.2, 1},
    {HANDLE ";recv@libc.so.6;sleep:recv tcp 10.0.0.3:6379;[redis]", "web › redis", WP_RUNNING_NOT_SAMPLED, 0, 0.2}};

/* A service asked by one client after the other, which pauses between. */
struct turns {
    double ms[PARTS];         /* more of each, for a request */
    double pause_ms, pool_ms; /* pool: a request waits so long until another gives back what both need */
    double contention;        /* waits for a CPU, of the rest of a request */
    double background;        /* of all time, a thread that computes for nobody */
    uint64_t seed;
    bool is_later, has_no_parts;
    double asks, opens;   /* by request, of a database */
    unsigned recordings;  /* 0: one */
    double noise;         /* how contention differs from one to the next (standard deviation of the log) */
    enum wp_per expected; /* of all trials; wall: any */
};

static uint64_t add(struct wp_report *report, const char *stack, enum wp_category category, uint64_t at, double ms)
{
    uint64_t ns = (uint64_t)(fmax(0, ms) * (double)MS);
    if (ns)
        wp_report_add_at(report, sample_node(report, stack), category, at, at + ns);
    return at + ns;
}

static void add_part(
    struct wp_report *report, const struct turns *turns, const char *who, unsigned part, double took_ms, uint64_t ns)
{
    struct wp_transaction_part row = {SERVICE, who,
        part == WP_OTHER_PATH && turns->pool_ms > 0 ? "take_connection" : "", part,
        wp_latency_bucket((uint64_t)(took_ms * (double)MS)), ns};
    if (!turns->has_no_parts && ns)
        wp_report_transaction_part(report, &row);
}

/* Ends when its answer is sent. */
static uint64_t add_request(struct wp_report *report, const struct turns *turns, uint64_t at, uint64_t *seed)
{
    double ms[PARTS], sum = 0;
    uint64_t began = at;
    for (int i = 0; i < PARTS; i++)
        sum += ms[i] = fmax(0.001, (parts[i].ms + turns->ms[i]) * (1 + parts[i].spread * normal(seed)));
    double pool = turns->pool_ms > 0 ? turns->pool_ms * (1 + 0.2 * normal(seed)) : 0;
    sum += pool;
    double contention = sum * turns->contention * -log(chance(seed));
    at = add(report, POOL, WP_OTHER_PATH, at, pool);
    add_part(report, turns, "web", WP_OTHER_PATH, sum + contention, (uint64_t)(fmax(0, pool) * (double)MS));
    for (int i = 0; i < PARTS; i++) {
        at = add(report, parts[i].stack, parts[i].category, at, ms[i]);
        add_part(report, turns, parts[i].who, parts[i].category, sum + contention, (uint64_t)(ms[i] * (double)MS));
    }
    at = add(report, "[web];sched:runnable", WP_SCHEDULER, at, contention);
    add_part(report, turns, "web", WP_SCHEDULER, sum + contention, (uint64_t)(contention * (double)MS));
    wp_report_transaction(report, SERVICE, began, at - began);
    return at;
}

static void record_once(struct wp_report *report, const struct turns *turns, uint64_t began, uint64_t *seed)
{
    uint64_t at = began;
    double wall_ms = 0;
    while ((wall_ms = (double)(at - began) / (double)MS) < RECORDED_MS) {
        double pause = turns->pause_ms * (1 + 0.1 * normal(seed));
        uint64_t answered = add_request(report, turns, at, seed);
        double all = (double)(answered - at) / (double)MS + pause;
        add(report, "[web];start_thread@libc.so.6;refresh@/srv/shop.py", WP_UNDERSTOOD_FUNCTIONS, at,
            all * turns->background);
        for (unsigned i = 0; i < WORKERS; i++) /* one of them has answered */
            add(report, i < 2 ? "[web];" FUTEX ";path:[web]" : QUEUE, WP_OTHER_PATH, i ? at : answered,
                i ? all : pause);
        at = add(report, LOOP ";tcp:127.0.0.1:*;[load];pause@load;clock_nanosleep@libc.so.6;sleep:clock_nanosleep",
            WP_DELIBERATE_SLEEP, answered, pause);
    }
    for (double ms = 0; ms < wall_ms; ms += 1000)
        add(report, "[web];main@web;Arbiter.sleep@web;select@libc.so.6;sleep:pselect6", WP_DELIBERATE_SLEEP,
            began + (uint64_t)ms * MS, fmin(1000, wall_ms - ms));
    wp_report_activity(report, began, at);
}

/* Recordings of both sides alternate. */
static struct wp_report *record(const struct turns *turns)
{
    struct wp_report *report = wp_report_create();
    uint64_t seed = turns->seed;
    assert_non_null(report);
    for (unsigned i = 0; !i || i < turns->recordings; i++) {
        struct turns once = *turns;
        once.contention *= exp(turns->noise * normal(&seed));
        record_once(report, &once, START + (2 * i + turns->is_later) * LATER, &seed);
    }
    uint32_t rows;
    const struct wp_transaction *row = wp_report_transactions(report, &rows);
    double requests = 0;
    for (uint32_t i = 0; i < rows; i++)
        requests += row[i].part == WP_PART_WHOLE ? (double)row[i].count : 0;
    wp_report_limit(report, WP_REPORT_ASKS "web" WP_REPORT_ASKED DATABASE, (uint64_t)(turns->asks * requests), 0);
    wp_report_limit(report, WP_REPORT_OPENS "web" WP_REPORT_ASKED DATABASE, (uint64_t)(turns->opens * requests), 0);
    return report;
}

static struct wp_compare compare(const struct turns *before, const struct turns *after, struct wp_facts facts[2],
    const struct wp_compare_options *options)
{
    struct wp_compare made;
    struct wp_error err = {0};
    for (int i = 0; i < 2; i++) {
        const struct turns *turns = i ? after : before;
        if (wp_facts_build(&facts[i], i ? "v2" : "v1", "service", record(turns), NULL, &err))
            fail_msg("%s", err.text);
        facts[i].recordings = turns->recordings ? turns->recordings : 1;
    }
    if (wp_compare_build(&made, &facts[0], &facts[1], options, &err))
        fail_msg("%s", err.text);
    return made;
}

static void end(struct wp_compare *made, struct wp_facts facts[2])
{
    wp_compare_fini(made);
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
}

static const struct wp_change *hop_of(const struct wp_compare *made, const char *name, enum wp_category category)
{
    for (size_t i = 0; i < made->changes[WP_CHANGE_HOPS].count; i++)
        if (!strcmp(made->changes[WP_CHANGE_HOPS].rows[i].name, name) &&
            made->changes[WP_CHANGE_HOPS].rows[i].category == (int)category)
            return &made->changes[WP_CHANGE_HOPS].rows[i];
    fail_msg("no hop %s", name);
    return NULL;
}

/* How many of `trials` raise an alarm; `named`: have that hop first of those that are worse. */
static unsigned alarms(struct turns before, struct turns after, const char *hop, unsigned trials, unsigned *named)
{
    unsigned count = 0;
    *named = 0;
    after.is_later = true;
    for (uint64_t trial = 1; trial <= trials; trial++) {
        struct wp_facts facts[2];
        before.seed = trial * 2;
        after.seed = trial * 2 + 1000003;
        struct wp_compare made = compare(&before, &after, facts, &WP_COMPARE_DEFAULTS);
        const struct wp_change *first = made.changes[WP_CHANGE_HOPS].rows;
        assert_true(before.expected == WP_PER_WALL || made.options.per == before.expected);
        count += made.is_degraded;
        *named += hop && first->verdict == WP_VERDICT_WORSE && !strcmp(first->name, hop);
        end(&made, facts);
    }
    return count;
}

#define SLOW_QUERY                                                                                                     \
    {                                                                                                                  \
        [EXECUTE] = 25                                                                                                 \
    }

/* Workers and clients of the faster one wait longer; as the whole is better, no hop is worse. */
static void a_faster_release_is_no_worse(void **state)
{
    (void)state;
    for (int per = WP_PER_WALL; per <= WP_PER_AUTO; per++) {
        struct wp_facts facts[2];
        struct turns slow = {.ms = SLOW_QUERY, .pause_ms = 30, .seed = 1},
                     fast = {.ms = {[SLEEP] = 1}, .pause_ms = 30, .seed = 2, .is_later = true};
        struct wp_compare_options options = WP_COMPARE_DEFAULTS;
        options.per = (enum wp_per)per;
        struct wp_compare made = compare(&slow, &fast, facts, &options);
        const struct wp_change *sleeps = hop_of(&made, "web", WP_DELIBERATE_SLEEP);
        if (made.is_degraded || !made.better)
            fail_msg("per %s: %zu worse, %zu better", wp_per_key(made.options.per), made.worse, made.better);
        assert_int_not_equal(sleeps->verdict, WP_VERDICT_WORSE); /* though a request does sleep for longer */
        end(&made, facts);
        made = compare(&fast, &slow, facts, &options);
        assert_true(made.is_degraded && !made.better);
        end(&made, facts);
    }
}

/* Where no request says that the whole is better. */
static void waiting_for_work_is_never_worse(void **state)
{
    struct turns busy = {.pause_ms = 2, .seed = 1}, idle = {.pause_ms = 60, .seed = 2, .is_later = true};
    struct wp_compare_options options = WP_COMPARE_DEFAULTS;
    struct wp_facts facts[2];
    (void)state;
    options.per = WP_PER_WALL;
    struct wp_compare made = compare(&busy, &idle, facts, &options);
    const struct wp_change *workers = hop_of(&made, "web", WP_OTHER_PATH);
    const struct wp_change *client = hop_of(&made, "web › load", WP_DELIBERATE_SLEEP);
    assert_true(client->delta > 0 && client->adjusted < 0.001);
    assert_int_equal(client->verdict, WP_VERDICT_SAME);
    assert_true(workers->delta > 0 && workers->adjusted < 0.001);
    assert_int_equal(workers->verdict, WP_VERDICT_SAME);
    assert_false(made.is_degraded);
    end(&made, facts);
}

/* The hops of a comparison by the request add up to what a request takes, and say what each part takes. */
static void a_request_is_the_unit(void **state)
{
    struct turns before = {.pause_ms = 20, .seed = 1},
                 after = {.ms = {[SLEEP] = 3}, .pause_ms = 20, .seed = 2, .is_later = true};
    struct wp_facts facts[2];
    (void)state;
    struct wp_compare made = compare(&before, &after, facts, &WP_COMPARE_DEFAULTS);
    assert_int_equal(made.options.per, WP_PER_REQUEST);
    for (int side = 0; side < 2; side++) {
        double sum = 0;
        for (size_t i = 0; i < made.changes[WP_CHANGE_HOPS].count; i++)
            sum += made.changes[WP_CHANGE_HOPS].rows[i].rate[side].value;
        assert_true(fabs(sum / made.operand[side].unit_ns - 1) < 0.02);
    }
    const struct wp_change *first = &made.changes[WP_CHANGE_HOPS].rows[0];
    assert_int_equal(first->verdict, WP_VERDICT_WORSE);
    assert_string_equal(first->name, "web");
    assert_int_equal(first->category, WP_DELIBERATE_SLEEP);
    assert_true(fabs(first->percent / 600 - 1) < 0.05); /* 3.5 ms instead of 0.5, whatever its other thread sleeps */
    struct wp_pool pool = {0};
    const char *sentence = wp_compare_sentence(&pool, &made, first);
    if (!strstr(sentence, " times as long: 3.") || !strstr(sentence, " ms in a request instead of "))
        fail_msg("%s", sentence);
    wp_pool_fini(&pool);
    end(&made, facts);
    before.has_no_parts = true;
    made = compare(&before, &after, facts, &WP_COMPARE_DEFAULTS);
    assert_int_equal(made.options.per, WP_PER_WALL);
    end(&made, facts);
    before.has_no_parts = false;
    before.background = 0.9;
    made = compare(&before, &after, facts, &WP_COMPARE_DEFAULTS);
    assert_int_equal(made.options.per, WP_PER_WALL);
    end(&made, facts);
    before.background = 0;
    before.pause_ms = 100; /* fewer than a hundred in six seconds */
    made = compare(&before, &after, facts, &WP_COMPARE_DEFAULTS);
    assert_int_equal(made.options.per, WP_PER_WALL);
    end(&made, facts);
}

static void equals_raise_no_alarm(void **state)
{
    static const struct {
        double pauses_ms[2], contention[2];
    } cases[] = {{{10, 10}, {0, 0}}, {{10, 10}, {0.3, 0.3}}, {{10, 30}, {0, 0}}, {{30, 3}, {0, 0}},
        {{10, 10}, {0.05, 0.4}}, {{10, 10}, {0.4, 0.05}}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct turns before = {.pause_ms = cases[i].pauses_ms[0], .contention = cases[i].contention[0]};
        struct turns after = {.pause_ms = cases[i].pauses_ms[1], .contention = cases[i].contention[1]};
        unsigned named, count = alarms(before, after, NULL, 100, &named);
        print_message(
            "one recording, pauses of %.0f and %.0f ms, waits for a CPU %.2f and %.2f: %u of 100 equals raise an "
            "alarm\n",
            cases[i].pauses_ms[0], cases[i].pauses_ms[1], cases[i].contention[0], cases[i].contention[1], count);
        assert_true(count <= 1);
    }
}

static void a_slower_hop_is_found(void **state)
{
    static const struct {
        enum part part;
        double more, pauses_ms[2]; /* more: of itself */
        unsigned least;
        const char *hop;
    } cases[] = {{EXECUTE, 0.2, {10, 10}, 95, "web › postgres"}, {EXECUTE, 0.5, {10, 30}, 99, "web › postgres"},
        {EXECUTE, 0.5, {30, 3}, 99, "web › postgres"}, {RUN, 0.2, {10, 10}, 95, "web"},
        {SLEEP, 0.5, {10, 10}, 95, "web"}, {TURN, 3, {10, 10}, 95, "web"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct turns before = {.pause_ms = cases[i].pauses_ms[0]}, after = {.pause_ms = cases[i].pauses_ms[1]};
        after.ms[cases[i].part] = cases[i].more * parts[cases[i].part].ms;
        unsigned named, count = alarms(before, after, cases[i].hop, 100, &named);
        print_message(
            "one recording, pauses of %.0f and %.0f ms, %.0f %% more of a part of %s: found in %u of 100, named "
            "first in %u\n",
            cases[i].pauses_ms[0], cases[i].pauses_ms[1], 100 * cases[i].more, cases[i].hop, count, named);
        assert_true(count >= cases[i].least && named >= cases[i].least);
    }
}

/* A thread that has a request in hand waits for what another gives back: that it waits for longer is worse. */
static void a_pool_that_is_waited_for_is_worse(void **state)
{
    struct turns before = {.pause_ms = 10, .pool_ms = 0.3, .seed = 1},
                 after = {.pause_ms = 10, .pool_ms = 5, .seed = 2, .is_later = true};
    (void)state;
    for (before.recordings = 1; before.recordings <= 2; before.recordings++) {
        struct wp_facts facts[2];
        after.recordings = before.recordings;
        struct wp_compare made = compare(&before, &after, facts, &WP_COMPARE_DEFAULTS);
        const struct wp_change *first = &made.changes[WP_CHANGE_HOPS].rows[0];
        assert_int_equal(first->verdict, WP_VERDICT_WORSE);
        assert_string_equal(first->name, "web");
        assert_int_equal(first->category, WP_OTHER_PATH);
        assert_string_equal(first->place, "take_connection");
        assert_true(fabs(first->delta / MS / 4.7 - 1) < 0.1); /* idle workers are not in it */
        end(&made, facts);
    }
}

/* An interpreter's lock makes a few more milliseconds of a thread many of all others: what it does is the cause. */
static void what_own_threads_wait_for_is_told_first(void **state)
{
    struct turns before = {.pause_ms = 10, .seed = 1},
                 after = {.ms = {[RUN] = 2, [TURN] = 12}, .pause_ms = 10, .seed = 2, .is_later = true};
    struct wp_facts facts[2];
    (void)state;
    struct wp_compare made = compare(&before, &after, facts, &WP_COMPARE_DEFAULTS);
    const struct wp_change *first = made.changes[WP_CHANGE_HOPS].rows;
    assert_int_equal(first[0].verdict, WP_VERDICT_WORSE);
    assert_int_equal(first[0].category, WP_UNDERSTOOD_FUNCTIONS);
    assert_int_equal(first[1].verdict, WP_VERDICT_WORSE);
    assert_int_equal(first[1].category, WP_OTHER_PATH);
    assert_true(first[1].delta > 3 * first[0].delta);
    end(&made, facts);
}

/* Where recordings are few, they say little of how each hop varies: requests do. */
static void few_recordings_are_told_by_requests(void **state)
{
    static const struct {
        enum part part;
        double more_ms;
        unsigned recordings;
        const char *hop;
    } cases[] = {{EXECUTE, 25, 2, "web › postgres"}, {EXECUTE, 1, 2, "web › postgres"}, {SLEEP, 4, 2, "web"},
        {EXECUTE, 1, 3, "web › postgres"}, {TURN, 1, 3, "web"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct turns before = {.pause_ms = 30,
            .recordings = cases[i].recordings,
            .contention = 0.5,
            .noise = 0.5,
            .expected = WP_PER_REQUEST};
        struct turns after = before;
        after.ms[cases[i].part] = cases[i].more_ms;
        unsigned named, count = alarms(before, after, cases[i].hop, 40, &named);
        print_message("%u recordings, %.0f ms more of a part of %s: found in %u of 40, named first in %u\n",
            cases[i].recordings, cases[i].more_ms, cases[i].hop, count, named);
        assert_true(count >= 38 && named >= 38);
    }
    for (unsigned recordings = 2; recordings <= 4; recordings++) {
        struct turns before = {
            .pause_ms = 30, .recordings = recordings, .contention = 0.5, .noise = 0.5, .expected = WP_PER_REQUEST};
        unsigned named, count = alarms(before, before, NULL, 100, &named);
        print_message("%u recordings: %u of 100 equals raise an alarm\n", recordings, count);
        assert_true(count <= 1);
    }
}

/* Neighbours make requests wait for a CPU and come less evenly: what a hop runs for one is hardly moved by them. */
static void cpu_time_is_held_against_that_of_other_hops(void **state)
{
    static const struct {
        double contention[2], more_ms;
        unsigned recordings, least, most;
    } cases[] = {{{1.5, 1.5}, 2.5, 1, 19, 20}, {{0.5, 4}, 1.5, 2, 19, 20}, {{0.5, 4}, 1.5, 3, 19, 20},
        {{1.5, 1.5}, 0, 1, 0, 0}, {{0.5, 4}, 0, 2, 0, 0}, {{4, 0.5}, 0, 3, 0, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct turns before = {.ms = {[CACHE] = 0.5},
            .pause_ms = 30,
            .recordings = cases[i].recordings,
            .contention = cases[i].contention[0],
            .noise = 0.3,
            .expected = WP_PER_REQUEST};
        struct turns after = before;
        after.contention = cases[i].contention[1];
        after.ms[EXECUTE] = cases[i].more_ms;
        unsigned named, count = alarms(before, after, "web › postgres", 20, &named);
        print_message("%u recordings, waits for a CPU %.1f and %.1f, %.1f ms more: found in %u of 20, named in %u\n",
            cases[i].recordings, cases[i].contention[0], cases[i].contention[1], cases[i].more_ms, count, named);
        assert_in_range(count, cases[i].least, cases[i].most);
        assert_true(named >= cases[i].least);
    }
}

/* What is much worse and not sure is said as that, and no longer that nothing is. */
static void what_may_be_worse_is_said(void **state)
{
    struct turns before = {.pause_ms = 30, .recordings = 2, .contention = 0.5, .noise = 0.5, .has_no_parts = true},
                 after = before;
    unsigned perhaps = 0, equal = 0;
    (void)state;
    after.is_later = true;
    for (uint64_t trial = 1; trial <= 40; trial++) {
        struct wp_facts facts[2];
        struct wp_pool pool = {0};
        before.seed = trial * 2;
        after.seed = trial * 2 + 1000003;
        after.ms[EXECUTE] = trial % 2 ? 25 : 0;
        struct wp_compare made = compare(&before, &after, facts, &WP_COMPARE_DEFAULTS);
        const char *said = wp_compare_summary(&pool, &made);
        assert_int_equal(made.options.per, WP_PER_WORK);
        bool is = !strncmp(
            said, "Perhaps, and more recordings of both would tell: The p50 of requests on tcp port 80 takes ", 91);
        assert_true(!is || !made.is_degraded);
        *(trial % 2 ? &perhaps : &equal) += is || (trial % 2 && made.is_degraded);
        wp_pool_fini(&pool);
        end(&made, facts);
    }
    print_message("perhaps or surely: %u of 20 slower ones, %u of 20 equals\n", perhaps, equal);
    assert_true(perhaps == 20 && equal <= 1);
}

/* Not another one in silence. */
static void a_unit_that_cannot_be_had_is_said(void **state)
{
    struct turns before = {.pause_ms = 30, .seed = 1}, after = {.pause_ms = 30, .seed = 2, .is_later = true};
    struct wp_compare_options options = WP_COMPARE_DEFAULTS;
    const char *notices[WP_COMPARE_NOTICES];
    struct wp_facts facts[2];
    struct wp_pool pool = {0};
    (void)state;
    options.per = WP_PER_WORK;
    struct wp_compare made = compare(&before, &after, facts, &options);
    assert_int_equal(made.options.per, WP_PER_WALL);
    assert_int_equal(wp_compare_notices(&pool, &made, notices), 1);
    if (!strstr(notices[0], "Not per work, as was asked, but in a second of wall time: work takes two recordings"))
        fail_msg("%s", notices[0]);
    end(&made, facts);
    before.has_no_parts = true;
    options.per = WP_PER_REQUEST;
    made = compare(&before, &after, facts, &options);
    assert_int_equal(wp_compare_notices(&pool, &made, notices), 1);
    assert_non_null(strstr(notices[0], "Not per request, as was asked, but in a second of wall time: "));
    end(&made, facts);
    made = compare(&before, &after, facts, &WP_COMPARE_DEFAULTS);
    assert_int_equal(wp_compare_notices(&pool, &made, notices), 0);
    end(&made, facts);
    wp_pool_fini(&pool);
}

/* A release that asks as often in each request, or opens connections, is told to; as often as before is not. */
static void what_is_asked_more_often_is_said(void **state)
{
    static const struct {
        double before[2], after[2]; /* asks, opens */
        size_t count;
        const char *words;
    } cases[] = {
        {{1, 0}, {30, 0}, 1,
            "Requests of web to tcp 10.0.0.2:5432 for each request that it serves: 30 in v2, instead of 1 in v1."},
        {{1.5, 0}, {2.4, 0}, 0, ""}, {{2, 0}, {1, 1}, 2, "New connections of web to"}, {{0.1, 0}, {0.6, 0}, 0, ""},
        {{4, 1}, {4, 1}, 0, ""}, {{80, 0}, {2.5, 0}, 1, "2.5 in v2, instead of 80 in v1."},
        {{0, 0}, {9, 0}, 1, "9 in v2"}};
    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct turns sides[2] = {{.asks = cases[i].before[0], .opens = cases[i].before[1], .pause_ms = 30, .seed = 1},
            {.asks = cases[i].after[0], .opens = cases[i].after[1], .pause_ms = 30, .seed = 1, .is_later = true}};
        const char *notices[WP_COMPARE_NOTICES];
        struct wp_facts facts[2];
        struct wp_pool pool = {0};
        struct wp_compare made = compare(&sides[0], &sides[1], facts, &WP_COMPARE_DEFAULTS);
        size_t count = wp_compare_notices(&pool, &made, notices);
        bool is_said = !*cases[i].words;
        for (size_t k = 0; k < count; k++)
            is_said |= strstr(notices[k], cases[i].words) != NULL;
        if (count != cases[i].count || !is_said || made.is_degraded)
            fail_msg("case %zu: %zu, %s", i, count, count ? notices[0] : "");
        end(&made, facts);
        wp_pool_fini(&pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_faster_release_is_no_worse),
        cmocka_unit_test(waiting_for_work_is_never_worse), cmocka_unit_test(a_request_is_the_unit),
        cmocka_unit_test(equals_raise_no_alarm), cmocka_unit_test(a_slower_hop_is_found),
        cmocka_unit_test(a_pool_that_is_waited_for_is_worse), cmocka_unit_test(what_own_threads_wait_for_is_told_first),
        cmocka_unit_test(few_recordings_are_told_by_requests),
        cmocka_unit_test(cpu_time_is_held_against_that_of_other_hops), cmocka_unit_test(what_may_be_worse_is_said),
        cmocka_unit_test(a_unit_that_cannot_be_had_is_said), cmocka_unit_test(what_is_asked_more_often_is_said)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
