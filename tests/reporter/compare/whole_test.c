/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict of the whole: wall time and requests first, and everything that is told follows from one verdict. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/compare/compare.h"
#include "reporter/compare/compare_findings.h"
#include "reporter/export/format_check.h"
#include "reporter/export/format_text.h"
#include "reporter/load/facts_read.h"
#include "reporter/page/page_compare.h"
#include "storage/report/report_series.h"
#include "storage/report/report_transactions.h"
#include "storage/value/recorded_keys.h"
#include "tests/reporter/sample.h"

#include <stdio.h>
#include <string.h>

#define MS 1000000ull
#define START (1790000000ull * 1000 * MS)
#define APART (60000ull * MS) /* from one recording to the next */
#define MANY 30u

/* A command: so many requests of a client, one after the other, each through a server and its clients' code. */
struct command {
    unsigned recordings, requests, later;
    double client_ms, server_ms, sleep_ms, once_ms; /* of each request; once_ms: one sleep a recording */
    double many_ms;                                 /* of each of MANY small hops a recording */
    double noise;                                   /* share by which times differ */
    double once_noise;                              /* the same of that one sleep */
    uint64_t seed;
};

static double chance(uint64_t *seed) /* splitmix64 (Steele, Lea and Flood); -1 to 1 */
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) / 4503599627370496.0 - 1;
}

static uint64_t piece(struct wp_report *report, const char *stack, enum wp_category category, uint64_t at, double ms)
{
    uint64_t ns = (uint64_t)(ms * (double)MS);
    if (ns)
        wp_report_add_at(report, sample_node(report, stack), category, at, at + ns);
    return at + ns;
}

static uint64_t add_request(
    struct wp_report *report, const struct command *command, double day, uint64_t *seed, uint64_t at)
{
    static const char *const server = "[client];main@client;read@libc.so.6;sleep:read;[server];handle@server";
    double noise = command->noise;
    uint64_t began = at;
    at = piece(report, "[client];main@client;work@client", WP_UNDERSTOOD_FUNCTIONS, at,
        command->client_ms * day * (1 + noise * chance(seed)));
    at = piece(report, server, WP_UNDERSTOOD_FUNCTIONS, at, command->server_ms * day * (1 + noise * chance(seed)));
    at = piece(report,
        "[client];main@client;read@libc.so.6;sleep:read;[server];handle@server;usleep@libc.so.6;"
        "k:hrtimer_nanosleep;sleep:clock_nanosleep",
        WP_DELIBERATE_SLEEP, at, command->sleep_ms);
    wp_report_transaction(report, "tcp port 41234", began, at - began);
    return at;
}

static void add_recording(struct wp_report *report, const struct command *command, uint64_t at, uint64_t *seed)
{
    double day = 1 + command->noise / 4 * chance(seed);
    uint64_t began = at;
    for (unsigned i = 0; i < command->requests; i++)
        at = add_request(report, command, day, seed, at);
    for (unsigned i = 0; i < MANY; i++) {
        char stack[128];
        snprintf(stack, sizeof(stack), "[client];main@client;[step-%c];[pg];exec@pg", 'a' + (int)i);
        at = piece(report, stack, WP_UNDERSTOOD_FUNCTIONS, at, command->many_ms * (1 + command->noise * chance(seed)));
    }
    at = piece(report, "[client];main@client;retry@client;sleep:nanosleep", WP_DELIBERATE_SLEEP, at,
        command->once_ms * (1 + (command->once_noise > 0 ? command->once_noise * chance(seed) : 0)));
    wp_report_activity(report, began, at);
}

static void build(struct wp_facts *facts, const char *release, const struct command *command)
{
    struct wp_error err = {0};
    struct wp_report *report = wp_report_create();
    uint64_t seed = command->seed;
    assert_non_null(report);
    for (unsigned i = 0; i < command->recordings; i++)
        add_recording(report, command, START + (2 * i + command->later) * APART, &seed);
    if (wp_facts_build(facts, release, "main", report, NULL, &err))
        fail_msg("%s", err.text);
    facts->recordings = command->recordings;
    facts->is_command = true;
}

struct outcome {
    struct wp_facts facts[2];
    struct wp_compare compare;
    struct wp_pool pool;
    struct wp_buffer text, json, junit;
};

static unsigned times(const char *text, const char *what)
{
    unsigned count = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        count++;
    return count;
}

/* Whatever is compared: headline, rows, marks, JSON and JUnit say the same. */
static void assert_one_verdict(const struct outcome *outcome)
{
    const struct wp_compare *compare = &outcome->compare;
    const char *text = (const char *)outcome->text.data, *json = (const char *)outcome->json.data;
    const struct wp_change *first[8];
    char wanted[64];
    size_t count = wp_compare_first(compare, first, 8), blue = 0;
    assert_int_equal(compare->is_degraded, compare->worse > 0);
    assert_int_equal(count > 0, compare->worse + compare->better > 0);
    if (compare->worse)
        assert_int_equal(first[0]->verdict, WP_VERDICT_WORSE);
    assert_int_equal(times((const char *)outcome->junit.data, "<failure"), compare->worse);
    assert_non_null(strstr(json, compare->is_degraded ? "\"degraded\": true" : "\"degraded\": false"));
    snprintf(wanted, sizeof(wanted), "Takes longer    %zu of", compare->worse);
    assert_non_null(strstr(text, wanted));
    snprintf(wanted, sizeof(wanted), "Takes less      %zu", compare->better);
    assert_non_null(strstr(text, wanted));
    for (int family = 0; family < WP_CHANGE_FAMILIES; family++)
        for (size_t i = 0; i < compare->changes[family].count; i++) {
            const struct wp_change *row = &compare->changes[family].rows[i];
            if (row->verdict == WP_VERDICT_BETTER)
                assert_true(
                    row->assessment.severity == WP_SEVERITY_LESS || row->assessment.severity == WP_SEVERITY_GONE);
            if (row->verdict == WP_VERDICT_SAME)
                assert_true(row->assessment.severity <= WP_SEVERITY_MAYBE);
        }
    for (int operand = 0; operand < 2; operand++)
        for (uint32_t i = 0; i < compare->flames[operand].count; i++)
            blue += compare->flames[operand].marks[i] == WP_VERDICT_BETTER;
    if (compare->is_worse_whole)
        assert_int_equal(compare->better + blue, 0);
}

static void hold(struct outcome *outcome, const struct command *before, const struct command *after)
{
    struct wp_error err = {0};
    struct wp_display display;
    memset(outcome, 0, sizeof(*outcome));
    build(&outcome->facts[0], "v1", before);
    build(&outcome->facts[1], "v2", after);
    if (wp_compare_build(&outcome->compare, &outcome->facts[0], &outcome->facts[1], &WP_COMPARE_DEFAULTS, &err))
        fail_msg("%s", err.text);
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_INDEX, NULL, NULL});
    assert_int_equal(wp_page_compare_digest(&display, &outcome->compare, NULL), 0);
    assert_int_equal(wp_format_text(&outcome->text, &display, NULL), 0);
    wp_display_fini(&display);
    assert_int_equal(wp_format_check_json(&outcome->json, &outcome->compare, NULL), 0);
    assert_int_equal(wp_format_check_junit(&outcome->junit, &outcome->compare, NULL), 0);
    assert_one_verdict(outcome);
}

static void end(struct outcome *outcome)
{
    struct wp_buffer *const all[] = {&outcome->text, &outcome->json, &outcome->junit};
    for (size_t i = 0; i < 3; i++)
        wp_buffer_fini(all[i]);
    wp_pool_fini(&outcome->pool);
    wp_compare_fini(&outcome->compare);
    wp_facts_fini(&outcome->facts[0]);
    wp_facts_fini(&outcome->facts[1]);
}

static const struct wp_change *find(
    const struct wp_compare *made, enum wp_change_family family, const char *name, int category)
{
    for (size_t i = 0; i < made->changes[family].count; i++)
        if (!strcmp(made->changes[family].rows[i].name, name) &&
            (category < 0 || made->changes[family].rows[i].category == category))
            return &made->changes[family].rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

/* 20 ms of sleep in each of 83 requests: the same work a request is less of each second, and yet nothing is better. */
static void a_sleep_in_each_request_is_worse(void **state)
{
    (void)state;
    struct command before = {
        .recordings = 6, .requests = 83, .client_ms = 20, .server_ms = 23, .noise = 0.1, .seed = 1};
    struct command after = before;
    struct outcome outcome;
    after.sleep_ms = 20;
    after.later = 1;
    after.seed = 2;
    hold(&outcome, &before, &after);
    const struct wp_compare *made = &outcome.compare;
    assert_int_equal(made->options.per, WP_PER_RECORDING);
    assert_true(made->is_degraded && made->is_worse_whole);
    assert_int_equal(made->better, 0);
    const struct wp_change *wall = find(made, WP_CHANGE_WHOLE, "Wall time", -1);
    assert_int_equal(wall->verdict, WP_VERDICT_WORSE);
    assert_true(wall->percent > 44 && wall->percent < 49);
    assert_int_equal(find(made, WP_CHANGE_WHOLE, "p50 of requests on tcp port *", -1)->verdict, WP_VERDICT_WORSE);
    assert_int_equal(find(made, WP_CHANGE_WHOLE, "Requests a second on tcp port *", -1)->verdict, WP_VERDICT_WORSE);
    const char *headline = wp_compare_summary(&outcome.pool, made);
    assert_non_null(strstr(headline, "Since v1: One recording takes 47 % longer: "));
    assert_non_null(strstr(headline,
        "client › server now sleeps on purpose in handle, 20.0 ms each time: 1.66 s in one "
        "recording"));
    end(&outcome);
    hold(&outcome, &after, &before); /* and the other way round */
    assert_false(outcome.compare.is_degraded);
    assert_true(outcome.compare.better > 0);
    assert_non_null(strstr(wp_compare_summary(&outcome.pool, &outcome.compare), "One recording takes 32 % less: "));
    end(&outcome);
}

/* Thirty paths to one process, each too small for a verdict of its own: its row is worse, and so is what is said. */
static void a_process_alone_makes_the_headline(void **state)
{
    (void)state;
    struct command before = {
        .recordings = 4, .requests = 60, .client_ms = 20, .server_ms = 20, .many_ms = 4, .noise = 0.04, .seed = 5};
    struct command after = before;
    struct outcome outcome;
    after.many_ms = 7.5;
    after.later = 1;
    after.seed = 6;
    hold(&outcome, &before, &after);
    for (size_t i = 0; i < outcome.compare.changes[WP_CHANGE_HOPS].count; i++)
        assert_true(outcome.compare.changes[WP_CHANGE_HOPS].rows[i].verdict < WP_VERDICT_WORSE);
    assert_int_equal(find(&outcome.compare, WP_CHANGE_PROCESSES, "[pg]", -1)->verdict, WP_VERDICT_WORSE);
    assert_true(outcome.compare.is_degraded);
    assert_non_null(strstr(wp_compare_summary(&outcome.pool, &outcome.compare), "pg takes 8"));
    end(&outcome);
}

/* One sleep a recording is too few pieces for any other test. */
static void what_only_new_recordings_have_is_a_change(void **state)
{
    (void)state;
    struct command before = {
        .recordings = 3, .requests = 40, .client_ms = 20, .server_ms = 20, .noise = 0.3, .seed = 7};
    struct command after = before;
    struct outcome outcome;
    after.once_ms = 90;
    after.later = 1;
    after.seed = 8;
    hold(&outcome, &before, &after);
    const struct wp_change *row = find(&outcome.compare, WP_CHANGE_HOPS, "client", WP_DELIBERATE_SLEEP);
    assert_int_equal(row->count[WP_AFTER], 3);
    assert_int_equal(row->verdict, WP_VERDICT_WORSE);
    assert_int_equal(row->assessment.severity, WP_SEVERITY_NEW);
    end(&outcome);
    after.recordings = 1; /* one recording says nothing of all of them */
    hold(&outcome, &before, &after);
    assert_int_equal(find(&outcome.compare, WP_CHANGE_HOPS, "client", WP_DELIBERATE_SLEEP)->verdict, WP_VERDICT_FEW);
    end(&outcome);
}

/* One sleep a recording is told by the recordings, whatever the processors did meanwhile: the wall time tells nothing.
 */
static void one_longer_sleep_is_a_change(void **state)
{
    static const double longer_ms[] = {33, 45, 260};
    struct command before = {
        .recordings = 3, .requests = 1, .client_ms = 30, .server_ms = 30, .once_ms = 30, .noise = 0.9, .seed = 11};
    (void)state;
    for (size_t i = 0; i < sizeof(longer_ms) / sizeof(*longer_ms); i++) {
        struct command after = before;
        struct outcome outcome;
        after.once_ms = longer_ms[i];
        after.later = 1;
        after.seed = 12;
        hold(&outcome, &before, &after);
        const struct wp_change *row = find(&outcome.compare, WP_CHANGE_HOPS, "client", WP_DELIBERATE_SLEEP);
        assert_int_equal(row->verdict, WP_VERDICT_WORSE);
        assert_true(outcome.compare.is_degraded);
        assert_non_null(
            strstr(wp_compare_summary(&outcome.pool, &outcome.compare), "client sleeps on purpose in retry"));
        end(&outcome);
    }
}

static struct wp_report *worked_on_by(const char *const *workers, uint64_t at_s)
{
    struct wp_report *report = wp_report_create();
    assert_non_null(report);
    for (unsigned i = 0; i < 20; i++)
        for (unsigned worker = 0; workers[worker]; worker++) {
            char stack[200];
            uint64_t start = (at_s + i) * 1000000000u + worker * 1000000u;
            snprintf(
                stack, sizeof(stack), "[api];main@api;sleep:fsync;path:%s;%s;k:work", workers[worker], workers[worker]);
            wp_report_add_at(report, sample_node(report, stack), WP_UNDERSTOOD_FUNCTIONS, start, start + 1000000);
        }
    return report;
}

static bool has_finding(const struct wp_facts *facts, const char *key)
{
    for (size_t i = 0; i < facts->finding_count; i++)
        if (!strcmp(facts->findings[i].key, key))
            return true;
    return false;
}

/* Workers of the kernel are known by their role, threads of a pool too where the other side has none of that number. */
static void workers_are_known_by_their_role(void **state)
{
    static const char *const before[] = {"[kworker/u8:2]", "[kworker/1:0H-kblockd]", "[kworker/0:1]",
        "[pool-1-thread-3]", "[pool-1-thread-4]", "[node-16]", "[cc1]", "[kworker/R-md-1]", "[gone-x2]", NULL};
    static const char *const after[] = {"[kworker/u8:6-events]", "[kworker/0:1H]", "[kworker/1:2+flush-8:0]",
        "[pool-1-thread-3]", "[pool-1-thread-9]", "[node-16]", "[cc1]", "[kworker/R-md-1]", "[come-x3]", NULL};
    static const char *const wanted[] = {"[kworker/u*:*]", "[kworker/*:*H]", "[kworker/*:*]", "[pool-*-thread-*]",
        "[node-16]", "[cc1]", "[kworker/R-md-*]"};
    struct wp_facts facts[2];
    struct wp_compare made;
    (void)state;
    assert_int_equal(wp_facts_build(&facts[0], "v1", "main", worked_on_by(before, 1790000000), NULL, NULL), 0);
    assert_int_equal(wp_facts_build(&facts[1], "v2", "main", worked_on_by(after, 1790000100), NULL, NULL), 0);
    assert_int_equal(wp_compare_build(&made, &facts[0], &facts[1], &WP_COMPARE_DEFAULTS, NULL), 0);
    for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
        const struct wp_change *row = find(&made, WP_CHANGE_PROCESSES, wanted[i], -1);
        assert_true(row->ns[WP_BEFORE] && row->ns[WP_BEFORE] == row->ns[WP_AFTER]);
    }
    assert_int_equal(made.changes[WP_CHANGE_PROCESSES].count, sizeof(wanted) / sizeof(*wanted) + 2);
    for (uint32_t i = 1; i < facts[1].flame.count; i++) { /* "path:[comm]" goes by the role as well */
        const char *name = wp_facts_frame_name(&facts[1], facts[1].flame.nodes[i].frame);
        bool is_new = !strcmp(name, "path:[come-x3]");
        if (!strncmp(name, "path:", 5))
            assert_true((made.flames[WP_AFTER].other_ns[i] > 0) != is_new);
    }
    for (size_t i = 0; i < facts[1].finding_count; i++) /* and by it a finding is known in another release */
        assert_null(strstr(facts[1].findings[i].key, "kworker/u8"));
    assert_true(has_finding(&facts[0], "waiting [kworker/u*:*]") && has_finding(&facts[1], "waiting [kworker/u*:*]"));
    wp_compare_fini(&made);
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
}

#define TRIALS 2000u

/* Of equal commands, three recordings a side. */
static bool is_alarm(const struct command *before)
{
    struct command after = *before;
    struct outcome outcome;
    after.later = 1;
    after.seed += 64;
    hold(&outcome, before, &after);
    bool is = outcome.compare.worse + outcome.compare.better > 0;
    end(&outcome);
    return is;
}

static void equals_raise_no_alarm(void **state)
{
    (void)state;
    unsigned alarms = 0, of_short = 0;
    for (uint64_t seed = 1; seed <= TRIALS; seed++) {
        double noise = 0.05 * (double)(1 + seed % 6);
        alarms += is_alarm(&(struct command){.recordings = 3,
            .requests = 20,
            .client_ms = 10,
            .server_ms = 10,
            .sleep_ms = 1,
            .many_ms = seed % 2 ? 1 : 0,
            .noise = noise,
            .seed = seed * 128});
        of_short += is_alarm(&(struct command){.recordings = 3,
            .requests = 1,
            .client_ms = 20,
            .server_ms = 20,
            .once_ms = 30,
            .noise = 2 * noise,
            .once_noise = noise,
            .seed = seed * 128});
    }
    print_message("equal commands, three recordings a side: %u of %u raise an alarm, of one request each: %u\n", alarms,
        TRIALS, of_short);
    assert_true(alarms * 100 <= TRIALS && of_short * 100 <= TRIALS);
}

static void build_of(struct wp_facts *facts, const char *release, const char *line, struct wp_metadata_fact rows[2])
{
    struct command command = {.recordings = 2, .requests = 5, .client_ms = 10, .server_ms = 10, .seed = 1};
    build(facts, release, &command);
    rows[0] = (struct wp_metadata_fact){.key = WP_RECORDED_COMMAND, .value = line};
    rows[1] = (struct wp_metadata_fact){.key = WP_RECORDED_EXIT, .value = "0"};
    facts->metadata = (struct wp_metadata){rows, 2};
}

/* Of releases that have no command in common what is there is compared, and both are named. */
static void commands_that_differ_are_named(void **state)
{
    static const char *const lines[][2] = {
        {"/old/bin/sleep 1", "/new/bin/sleep 1"}, {"/old/bin/sleep 1", "/new/bin/sleep 2"}};
    (void)state;
    for (int differs = 0; differs < 2; differs++) {
        struct outcome outcome = {0};
        struct wp_metadata_fact rows[2][2];
        struct wp_display display;
        struct wp_error err = {0};
        build_of(&outcome.facts[0], "v1", lines[differs][0], rows[0]);
        build_of(&outcome.facts[1], "v2", lines[differs][1], rows[1]);
        assert_int_equal(
            wp_compare_build(&outcome.compare, &outcome.facts[0], &outcome.facts[1], &WP_COMPARE_DEFAULTS, &err), 0);
        wp_display_init(&display, &(struct wp_page_id){WP_PAGE_INDEX, NULL, NULL});
        assert_int_equal(wp_page_compare_digest(&display, &outcome.compare, NULL), 0);
        assert_int_equal(wp_format_text(&outcome.text, &display, NULL), 0);
        wp_buffer_putc(&outcome.text, 0);
        const char *said =
            strstr((const char *)outcome.text.data, "The commands differ: v1 is of sleep 1 and v2 of sleep 2.");
        assert_int_equal(said != NULL, differs);
        assert_int_equal(wp_format_check_json(&outcome.json, &outcome.compare, NULL), 0);
        assert_int_equal(wp_format_check_junit(&outcome.junit, &outcome.compare, NULL), 0);
        static const char notice[] = "The commands differ: v1 is of sleep 1 and v2 of sleep 2.";
        assert_int_equal(strstr((const char *)outcome.json.data, notice) != NULL, differs);
        assert_int_equal(
            strstr((const char *)outcome.junit.data, "<property name=\"notice.1\" value=\"The commands") != NULL,
            differs);
        wp_display_fini(&display);
        end(&outcome);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_sleep_in_each_request_is_worse),
        cmocka_unit_test(a_process_alone_makes_the_headline),
        cmocka_unit_test(what_only_new_recordings_have_is_a_change), cmocka_unit_test(one_longer_sleep_is_a_change),
        cmocka_unit_test(workers_are_known_by_their_role), cmocka_unit_test(commands_that_differ_are_named),
        cmocka_unit_test(equals_raise_no_alarm)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
