/* SPDX-License-Identifier: Apache-2.0 */
/* Stretches of lost events: what of a piece is in them, however they came. */
#include "aggregator/timeline/drop_spans.h"

#include "aggregator/session/host_session.h"
#include "tests/aggregator/aggregate_of.h"
#include "storage/report/report_read.h"
#include "tests/aggregator/made_trace.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define SPACE 2000u

static void only_the_overlap(void **state)
{
    (void)state;
    struct wp_drop_spans spans = {0};
    assert_int_equal(wp_drop_spans_overlap(&spans, 0, 1000), 0);
    wp_drop_spans_add(&spans, 100, 199);
    wp_drop_spans_add(&spans, 400, 400);
    assert_int_equal(wp_drop_spans_overlap(&spans, 0, 1000), 101);
    assert_int_equal(wp_drop_spans_overlap(&spans, 150, 160), 10);
    assert_int_equal(wp_drop_spans_overlap(&spans, 0, 100), 0);
    assert_int_equal(wp_drop_spans_overlap(&spans, 200, 400), 0);
    assert_int_equal(wp_drop_spans_overlap(&spans, 180, 401), 21);
    wp_drop_spans_add(&spans, 150, 299); /* another processor's: counts once */
    assert_int_equal(wp_drop_spans_overlap(&spans, 0, 1000), 201);
    wp_drop_spans_forget(&spans, 350);
    assert_int_equal(wp_drop_spans_overlap(&spans, 0, 1000), 1);
    wp_drop_spans_add(&spans, UINT64_MAX, UINT64_MAX);
    wp_drop_spans_fini(&spans);
}

/* Against a map of every nanosecond. */
static void any_order(void **state)
{
    (void)state;
    for (uint64_t seed = 1, random = 1; seed <= 200; seed++) {
        struct wp_drop_spans spans = {0};
        uint8_t map[SPACE] = {0};
        for (uint64_t n = made_random(&random) % 60; n; n--) {
            uint64_t from = made_random(&random) % (SPACE - 50), length = made_random(&random) % 50;
            memset(map + from, 1, length + 1);
            wp_drop_spans_add(&spans, from, from + length);
            for (uint32_t i = 1; i < spans.count; i++)
                assert_true(spans.rows[i - 1].to_ns < spans.rows[i].from_ns);
        }
        for (unsigned i = 0; i < 20; i++) {
            uint64_t start = made_random(&random) % SPACE, end = start + made_random(&random) % (SPACE - start),
                     sum = 0;
            for (uint64_t at = start; at < end; at++)
                sum += map[at];
            assert_int_equal(wp_drop_spans_overlap(&spans, start, end), sum);
        }
        wp_drop_spans_fini(&spans);
    }
}

static void too_many_are_too_wide(void **state)
{
    (void)state;
    struct wp_drop_spans spans = {0};
    for (uint64_t i = 0; i < 2 * WP_DROP_SPANS; i++)
        wp_drop_spans_add(&spans, i * 10, i * 10);
    assert_true(spans.count <= WP_DROP_SPANS);
    for (uint64_t i = 0; i < 2 * WP_DROP_SPANS; i++)
        assert_int_equal(wp_drop_spans_overlap(&spans, i * 10, i * 10 + 1), 1);
    wp_drop_spans_fini(&spans);
}

static void beginnings(void **state)
{
    (void)state;
    struct wp_drop_spans spans = {0};
    for (uint64_t i = 0; i < 10; i++)
        wp_drop_spans_add(&spans, i * 100, i * 100 + 49);
    for (uint64_t start = 0; start < 1000; start += 7)
        for (uint64_t end = start; end < 1100; end += 13) {
            uint64_t count = 0;
            for (uint64_t i = 0; i < 10; i++)
                count += i * 100 >= start && i * 100 < end;
            assert_int_equal(wp_drop_spans_begun(&spans, start, end), count);
        }
    wp_drop_spans_fini(&spans);
}

/* A thread that runs for ten milliseconds, with half a millisecond of losses in them, is uncertain for that half. */
static void in_a_report(void **state)
{
    (void)state;
    struct wp_aggregate_rule rule = {.name = "a"};
    struct wp_host_session_options options = {
        .rules = &rule, .rule_count = 1, .epoch_ns = 1000000000, .lateness_ns = 1000000000, .history_ns = 10000000000};
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h"};
    struct wp_bytes name = {"a", 1};
    struct wp_thread_entry thread = {.tid = 1, .pid = 1, .comm = 1, .flags = WP_THREAD_COMMAND};
    struct wp_event events[] = {
        {.kind = WP_EVENT_SWITCH, .time_ns = 1000000000, .other = 1},
        {.kind = WP_EVENT_LOCAL, .time_ns = 1006000000, .thread = 1, .c = 1, .d = 7},
        {.kind = WP_EVENT_LOCAL, .time_ns = 1007000000, .thread = 1, .a = 2000000, .d = 7}, /* before the read */
        {.kind = WP_EVENT_SWITCH, .time_ns = 1010000000, .thread = 1, .c = WP_STATE_DEAD},
    };
    struct wp_drop drops[] = {
        {.kind = WP_EVENT_SWITCH, .cpu = 1, .count = 3, .from_ns = 1002000000, .to_ns = 1002399999},
        {.kind = WP_EVENT_SAMPLE, .cpu = 2, .count = 1, .from_ns = 1002200000, .to_ns = 1002499999},
        {.kind = WP_EVENT_SAMPLE, .cpu = 2, .count = 1, .from_ns = 1010000000, .to_ns = 1020000000},
        {.reason = WP_DROP_PAUSED, .from_ns = 1004000000, .to_ns = 1004999999},
        {.reason = WP_DROP_PAUSED, .from_ns = 1007000000, .to_ns = 1007499999},
        {.reason = WP_DROP_STACKS, .count = 40, .from_ns = 1001000000, .to_ns = 1003999999},
    };
    struct wp_batch batch = {.seq = 1,
        .first_string = 1,
        .strings = &name,
        .string_count = 1,
        .first_thread = 1,
        .first_socket = 1,
        .first_object = 1,
        .first_frame = 1,
        .first_stack = 1,
        .threads = &thread,
        .thread_count = 1,
        .events = events,
        .event_count = 4,
        .drops = drops,
        .drop_count = 6,
        .watermark_ns = 1010000000};
    struct wp_host_session *session;
    assert_int_equal(wp_selector_parse(&rule.selector, "command", NULL), 0);
    assert_int_equal(wp_host_session_create(&session, &hello, "v1", &options, NULL, NULL), 0);
    assert_int_equal(wp_host_session_take(session, &batch, NULL), 0);
    wp_host_session_close(session);
    assert_int_equal(wp_report_total(report_of(session, 0)), 10000000);
    assert_int_equal(
        wp_report_uncertain_ns(report_of(session, 0)), 500000); /* WINDOW events would say what is not known */
    assert_int_equal(wp_host_session_drops(session)[0] + wp_host_session_drops(session)[WP_EVENT_SWITCH] +
            wp_host_session_drops(session)[WP_EVENT_SAMPLE],
        5); /* stacks are no events */
    wp_aggregate_close_delta(aggregate_of(session, 0), wp_host_session_drops(session), 1010000000);
    assert_int_equal((uint64_t)(wp_report_coverage(report_of(session, 0)) * 10000), 10000);
    uint32_t count;
    const struct wp_report *report = report_of(session, 0);
    const struct wp_limit_count *limits = wp_report_limits(report, &count);
    assert_int_equal(count, 3);
    for (uint32_t i = 0; i < count; i++) {
        if (!strcmp(wp_report_text(report, limits[i].name), "late turn")) {
            assert_int_equal(limits[i].count, 1);
            continue;
        }
        bool is_paused = !strcmp(wp_report_text(report, limits[i].name), "overhead: no events");
        assert_true(is_paused || !strcmp(wp_report_text(report, limits[i].name), "overhead: fewer stacks"));
        assert_int_equal(limits[i].count, is_paused ? 2 : 1);
        assert_int_equal(limits[i].ns, is_paused ? 1500000 : 3000000);
    }
    wp_host_session_destroy(session);
    wp_selector_fini(&rule.selector);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(only_the_overlap), cmocka_unit_test(any_order),
        cmocka_unit_test(too_many_are_too_wide), cmocka_unit_test(beginnings), cmocka_unit_test(in_a_report)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
