/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recordings in windows, made of whole ones: what is accounted for is just the time in the windows, the coverage is
 * theirs, and neither depends on how the events come. WP_SEED=N runs that trace only, WP_TRACES=N so many.
 */
#include "tests/aggregator/made_window.h"

#include "aggregator/session/host_session.h"
#include "tests/aggregator/aggregate_of.h"
#include "storage/report/report_encode.h"
#include "storage/report/report_merge.h"
#include "storage/report/report_read.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#define NEVER_NS ((uint64_t)1 << 60)

struct recorded {
    struct wp_report *report; /* of all deltas */
    struct wp_host_session *session;
};

/* Cut into batches of up to `most` events, 0: one. */
static struct recorded run(
    const struct wp_host_session_options *options, const struct made_trace *trace, uint32_t most, uint64_t seed)
{
    struct wp_hello hello = {.hostname = (char *)(uintptr_t) "h", .start_real_ns = 5000000000};
    struct recorded r = {.report = wp_report_create()};
    struct wp_error err = {0};
    uint32_t count = trace->whole.event_count;
    uint64_t seq = 1;
    assert_int_equal(wp_host_session_create(&r.session, &hello, "v1", options, NULL, NULL), 0);
    for (uint32_t first = 0, end; first < count; first = end, seq++) {
        end = most ? first + 1 + (uint32_t)(made_random(&seed) % most) : count;
        end = end < count ? end : count;
        struct wp_batch batch = made_trace_cut(trace, first, end, seq);
        if (wp_host_session_take(r.session, &batch, &err))
            fail_msg("%s", err.text);
        wp_host_session_resolve(r.session);
        if (end == count)
            wp_host_session_close(r.session);
        if (end < count && (!most || made_random(&seed) % 4))
            continue;
        assert_int_equal(wp_report_merge(r.report, closed_report_of(r.session, 0), NULL), 0);
        wp_aggregate_next_delta(aggregate_of(r.session, 0));
    }
    return r;
}

static void drop(struct recorded *r)
{
    wp_report_destroy(r->report);
    wp_host_session_destroy(r->session);
}

static bool is_base(const struct wp_timeline *timeline, const struct wp_slice *slice)
{
    return timeline->identities[slice->identity].aggregates & 1;
}

/* The command's time in the windows by what all of the recording says. What has not ended counts in windows that have.
 */
static uint64_t expected_base(const struct wp_timeline *timeline, const struct wp_window *window)
{
    uint64_t sum = 0, now_ns = timeline->now_ns, over_ns = now_ns;
    if (wp_window_is_open(window, now_ns)) /* this one has not */
        over_ns = now_ns - now_ns % window->every_ns;
    for (uint32_t i = 1; i < timeline->thread_count; i++) {
        const struct wp_thread *thread = &timeline->threads[i];
        for (uint64_t n = thread->first_slice; n < thread->slice_end; n++) {
            const struct wp_slice *slice = wp_thread_slice(thread, n);
            uint64_t end_ns = slice->end_ns ? slice->end_ns : slice->in_ns ? now_ns : over_ns;
            if (is_base(timeline, slice) && end_ns > slice->out_ns)
                sum += made_window_open(window, slice->out_ns, end_ns);
        }
    }
    return sum;
}

static uint64_t found_base(const struct wp_timeline *timeline)
{
    uint64_t sum = 0;
    for (uint32_t i = 1; i < timeline->thread_count; i++) {
        const struct wp_thread *thread = &timeline->threads[i];
        for (uint64_t n = thread->first_slice; n < thread->slice_end; n++) {
            const struct wp_slice *slice = wp_thread_slice(thread, n);
            assert_true(n + 1 == thread->slice_end ||
                (slice->end_ns && slice->end_ns <= wp_thread_slice(thread, n + 1)->out_ns));
            if (slice->in_ns && is_base(timeline, slice))
                sum += (slice->end_ns ? slice->end_ns : timeline->now_ns) - slice->out_ns;
        }
    }
    return sum;
}

static void same_bytes(const struct wp_report *left, const struct wp_report *right)
{
    struct wp_buffer a = {0}, b = {0};
    assert_int_equal(wp_report_encode(left, &a, NULL), 0);
    assert_int_equal(wp_report_encode(right, &b, NULL), 0);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    wp_buffer_fini(&a);
    wp_buffer_fini(&b);
}

static void hold(uint64_t seed)
{
    struct wp_aggregate_rule rule = {.name = "main"};
    struct wp_host_session_options options = {
        .rules = &rule, .rule_count = 1, .epoch_ns = 5000000, .lateness_ns = 10000000, .history_ns = NEVER_NS};
    const struct wp_window window = {500000 + seed % 7 * 300000, 3000000 + seed % 40 * 200000};
    struct made_trace trace;
    assert_int_equal(wp_selector_parse(&rule.selector, "command", NULL), 0);
    made_trace_init(&trace,
        &(struct made_options){.seed = seed,
            .events = 500 + (uint32_t)(seed * 7919 % 4000),
            .cpus = 1 + (uint32_t)(seed % 6),
            .threads = 8 + (uint32_t)(seed % 30)});
    struct recorded all = run(&options, &trace, 0, 0);
    uint64_t start_ns = trace.whole.events[0].time_ns, end_ns = wp_host_session_timeline(all.session)->now_ns;
    made_window_apply(&trace, &window);
    struct recorded whole = run(&options, &trace, 0, 0);
    assert_int_equal(wp_host_session_timeline(whole.session)->now_ns >= end_ns - window.every_ns, 1);
    uint64_t expected_ns = expected_base(wp_host_session_timeline(all.session), &window),
             found_ns = found_base(wp_host_session_timeline(whole.session));
    if (expected_ns != found_ns)
        fail_msg("seed %llu: %llu ns of the command, %llu are in the windows", (unsigned long long)seed,
            (unsigned long long)found_ns, (unsigned long long)expected_ns);
    uint64_t last_ns = wp_host_session_timeline(whole.session)->now_ns;
    double coverage =
        last_ns > start_ns ? (double)made_window_open(&window, start_ns, last_ns) / (double)(last_ns - start_ns) : 1;
    assert_true(
        wp_report_coverage(whole.report) > coverage - 1e-9 && wp_report_coverage(whole.report) < coverage + 1e-9);
    assert_true(wp_report_total(whole.report) >= found_ns);
    static const uint32_t sizes[] = {1, 40, 3000};
    options.history_ns = 50000000;
    struct recorded forgetful = run(&options, &trace, 0, 0);
    for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct recorded cut = run(&options, &trace, sizes[i], seed + i);
        same_bytes(forgetful.report, cut.report);
        drop(&cut);
    }
    drop(&forgetful);
    drop(&whole);
    drop(&all);
    made_trace_fini(&trace);
    wp_selector_fini(&rule.selector);
}

static void windows_of_whole_recordings(void **state)
{
    const char *seed = getenv("WP_SEED"), *traces = getenv("WP_TRACES");
    (void)state;
    if (seed)
        hold(strtoull(seed, NULL, 0));
    for (uint64_t i = 1; !seed && i <= (traces ? strtoull(traces, NULL, 0) : 200); i++)
        hold(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(windows_of_whole_recordings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
