/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "common/path.h"
#include "reporter/compare/compare.h"
#include "reporter/compare/compare_findings.h"
#include "reporter/data/view_data.h"
#include "reporter/export/format_check.h"
#include "reporter/export/format_text.h"
#include "reporter/html/format_html.h"
#include "reporter/load/facts_read.h"
#include "reporter/page/page.h"
#include "reporter/page/page_compare.h"
#include "storage/report/report_merge.h"
#include "storage/report/report_series.h"
#include "tests/reporter/sample.h"
#include "tests/reporter/sample_service.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EQUAL_TRIALS 300u
#define SLOWER_TRIALS 120u

static void build(struct wp_facts *facts, const char *release, struct wp_report *report)
{
    struct wp_error err = {0};
    assert_non_null(report);
    if (wp_facts_build(facts, release, "main", report, NULL, &err))
        fail_msg("%s", err.text);
}

static void compare(struct wp_compare *made, struct wp_facts facts[2], const struct wp_compare_options *options)
{
    struct wp_error err = {0};
    if (wp_compare_build(made, &facts[0], &facts[1], options, &err))
        fail_msg("%s", err.text);
}

static void end(struct wp_compare *made, struct wp_facts facts[2])
{
    wp_compare_fini(made);
    wp_facts_fini(&facts[0]);
    wp_facts_fini(&facts[1]);
}

static void services(struct wp_facts facts[2], uint64_t seed, unsigned seconds, double slower)
{
    struct service_options before = {.seed = seed * 2, .seconds = seconds, .requests = 100, .steps = 0.05};
    struct service_options after = before;
    after.seed++;
    after.hour = 2;
    after.slower[SERVICE_DISK] = slower;
    build(&facts[0], "v1", sample_service(&before));
    build(&facts[1], "v2", sample_service(&after));
}

/* --- the arithmetic, against published figures --- */

static void assert_near(double value, double wanted, double within)
{
    if (!(fabs(value - wanted) <= within))
        fail_msg("%.9g is not %.9g +- %.3g", value, wanted, within);
}

static void student_matches_tables(void **state)
{
    (void)state;
    /* Critical values of t, two-sided (Abramowitz and Stegun, table 26.10). */
    assert_near(wp_student_tail(12.706205, 1), 0.05, 1e-7);
    assert_near(wp_student_tail(2.570582, 5), 0.05, 1e-6);
    assert_near(wp_student_tail(2.750000, 30), 0.01, 1e-5);
    assert_near(wp_student_tail(-3.850, 30), 0.000573, 1e-5);
    assert_near(wp_student_tail(1.959964, 1e9), 0.05, 1e-6);
    assert_near(wp_student_tail(0, 7), 1, 1e-12);
    assert_near(wp_student_tail(INFINITY, 7), 0, 0);
    assert_near(wp_student_tail(3, 0), 1, 0);
}

static void welch_takes_both_errors(void **state)
{
    (void)state;
    /* Two samples of 4: means 20 and 30, errors 1 and 2: t = 10 / sqrt(5), freedom = 25 / (1/3 + 16/3). */
    struct wp_measured_rate a = {20, 1, 3}, b = {30, 2, 3}, none = {30, 0, 0}, still = {30, 0, 3}, same = {30, 0, 3};
    struct wp_welch welch = wp_welch_test(&a, &b);
    assert_near(welch.t, 4.472136, 1e-6);
    assert_near(welch.freedom, 4.411765, 1e-6);
    assert_true(welch.p > 0.008 && welch.p < 0.012);
    assert_near(wp_welch_test(&a, &none).p, 1, 0);
    assert_near(wp_welch_test(&still, &same).p, 1, 0);
    still.value = 31;
    assert_near(wp_welch_test(&still, &same).p, 0, 0);
}

static void rates_know_their_error(void **state)
{
    (void)state;
    double part[] = {1, 3, 1, 3, 1, 3, 1, 3}, active[] = {1, 1, 1, 1, 1, 1, 1, 1}, steps[] = {1, 1, 1, 1, 3, 3, 3, 3};
    struct wp_measured_rate rate = wp_rate_of(part, active, 8, 0);
    assert_near(rate.value, 2, 1e-12);
    assert_near(rate.error, sqrt(1.0 / 7), 1e-12); /* the mean's: neighbours that alternate say nothing */
    assert_near(rate.freedom, 7, 1e-12);
    struct wp_measured_rate stepped = wp_rate_of(steps, active, 8, 0);
    assert_true(stepped.error > 1.7 * rate.error && stepped.freedom < 3); /* two stretches are not eight samples */
    assert_near(wp_rate_of(part, active, 8, 4).value, 4, 1e-12);
    assert_near(wp_rate_of(part, active, 3, 0).freedom, 0, 0);
    double twice[] = {2, 3, 2, 3, 2, 3, 2, 3}, half[] = {2, 3, 2, 3, 2, 3, 2, 3};
    assert_near(wp_rate_of(twice, half, 8, 0).error, 0, 1e-12); /* a part that follows the activity does not vary */
}

static void many_tests_are_adjusted(void **state)
{
    (void)state;
    double p[] = {0.01, 0.04, 0.03, 0.005}, holm[4], hochberg[4];
    static const double holm_wanted[] = {0.03, 0.06, 0.06, 0.02}, hochberg_wanted[] = {0.02, 0.04, 0.04, 0.02};
    assert_int_equal(wp_adjust_holm(p, NULL, holm, 4), 0);
    assert_int_equal(wp_adjust_hochberg(p, hochberg, 4), 0);
    for (int i = 0; i < 4; i++) {
        assert_near(holm[i], holm_wanted[i], 1e-12);
        assert_near(hochberg[i], hochberg_wanted[i], 1e-12);
    }
}

/* --- what a comparison says --- */

static void equal_releases_raise_no_alarm(void **state)
{
    (void)state;
    unsigned alarms = 0, unguarded = 0, colours = 0;
    for (uint64_t seed = 1; seed <= EQUAL_TRIALS; seed++) {
        struct wp_facts facts[2];
        struct wp_compare made;
        struct wp_compare_options options = WP_COMPARE_DEFAULTS;
        services(facts, seed, 300, 0);
        options.per = (enum wp_per)(seed % 3);
        compare(&made, facts, &options);
        assert_true(made.judged > 15);
        alarms += made.is_degraded || made.worse || made.better;
        for (uint32_t i = 0; i < made.flames[1].count; i++)
            colours += made.flames[1].marks[i] == WP_VERDICT_WORSE;
        wp_compare_fini(&made);
        options.threshold_percent = 0; /* only the test stands between noise and an alarm */
        compare(&made, facts, &options);
        unguarded += made.is_degraded;
        end(&made, facts);
    }
    print_message("equal releases: %u of %u raise an alarm, %u without a threshold, %u frames are red\n", alarms,
        EQUAL_TRIALS, unguarded, colours);
    assert_true(alarms * 100 <= EQUAL_TRIALS);
    assert_true(unguarded * 100 <= EQUAL_TRIALS * 2);
}

static void five_percent_in_one_hop_come_first(void **state)
{
    (void)state;
    unsigned first = 0, found = 0;
    for (uint64_t seed = 1; seed <= SLOWER_TRIALS; seed++) {
        struct wp_facts facts[2];
        struct wp_compare made;
        services(facts, 10000 + seed, 1200, 0.05);
        compare(&made, facts, &WP_COMPARE_DEFAULTS);
        const struct wp_change *change = &made.changes[WP_CHANGE_HOPS].rows[0];
        first += !strcmp(change->name, service_hop_names[SERVICE_DISK]) && change->category == WP_BLOCKING_IO &&
            change->delta > 0;
        found += made.is_degraded;
        end(&made, facts);
    }
    print_message("5 %% slower disk: ranked first in %u of %u, a degradation in %u\n", first, SLOWER_TRIALS, found);
    assert_true(first * 100 >= SLOWER_TRIALS * 95);
    assert_true(found * 100 >= SLOWER_TRIALS * 90);
}

static const struct wp_change *find(
    const struct wp_compare *made, enum wp_change_family family, const char *name, int category)
{
    for (size_t i = 0; i < made->changes[family].count; i++)
        if (!strcmp(made->changes[family].rows[i].name, name) &&
            (category < 0 || made->changes[family].rows[i].category == category))
            return &made->changes[family].rows[i];
    return NULL;
}

static void as_text(struct wp_buffer *out, const struct wp_compare *made)
{
    struct wp_display display;
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_INDEX, NULL, NULL});
    assert_int_equal(wp_page_compare_digest(&display, made, NULL), 0);
    assert_int_equal(wp_format_text(out, &display, NULL), 0);
    wp_display_fini(&display);
}

#define RECORDINGS 4u

static double days_disk(uint64_t seed)
{
    return 0.4 * (double)((seed * 2654435761u >> 7) % 1000) / 1000 - 0.2;
}

/* Recordings of two releases in turns; the disk of each is as slow as its day has it. */
static void recorded_in_turns(struct wp_facts facts[2], uint64_t seed, double slower)
{
    static const char *const names[] = {"v1", "v2"};
    struct wp_error err = {0};
    for (unsigned operand = 0; operand < 2; operand++) {
        struct wp_report *sum = NULL;
        for (unsigned i = 0; i < RECORDINGS; i++) {
            struct service_options options = {.seed = seed * 64 + operand * 8 + i,
                .seconds = 60,
                .requests = 100,
                .steps = 0.02,
                .later_s = (2 * i + operand) * 80};
            options.slower[SERVICE_DISK] = days_disk(options.seed);
            options.slower[6] = operand ? slower : 0; /* what postgres computes */
            struct wp_report *one = sample_service(&options);
            if (sum && wp_report_merge(sum, one, &err))
                fail_msg("%s", err.text);
            if (sum)
                wp_report_destroy(one);
            else
                sum = one;
        }
        build(&facts[operand], names[operand], sum);
        facts[operand].recordings = RECORDINGS;
    }
}

static void recordings_that_differ_raise_no_alarm(void **state)
{
    (void)state;
    unsigned alarms = 0, blind = 0;
    for (uint64_t seed = 1; seed <= EQUAL_TRIALS; seed++) {
        struct wp_facts facts[2];
        struct wp_compare made;
        recorded_in_turns(facts, seed, 0);
        compare(&made, facts, &WP_COMPARE_DEFAULTS);
        assert_int_equal(made.operand[0].intervals, RECORDINGS);
        alarms += made.worse || made.better || made.is_degraded;
        wp_compare_fini(&made);
        facts[0].recordings = facts[1].recordings = 1; /* as if it were all one */
        compare(&made, facts, &WP_COMPARE_DEFAULTS);
        assert_int_equal(made.operand[0].intervals, 1);
        blind += made.worse || made.better || made.is_degraded;
        end(&made, facts);
    }
    print_message(
        "recordings with disks of their own: %u of %u raise an alarm, %u when nothing is known of recordings\n", alarms,
        EQUAL_TRIALS, blind);
    assert_true(alarms * 100 <= EQUAL_TRIALS * 2); /* an alarm is any verdict here, better or worse */
    assert_true(blind >= alarms);
}

static void a_slower_hop_is_found_between_recordings(void **state)
{
    (void)state;
    unsigned first = 0;
    for (uint64_t seed = 1; seed <= SLOWER_TRIALS; seed++) {
        struct wp_facts facts[2];
        struct wp_compare made;
        recorded_in_turns(facts, 5000 + seed, 0.1);
        compare(&made, facts, &WP_COMPARE_DEFAULTS);
        const struct wp_change *change = &made.changes[WP_CHANGE_HOPS].rows[0];
        first += change->verdict == WP_VERDICT_WORSE && !strcmp(change->name, service_hop_names[6]) &&
            change->category == WP_UNDERSTOOD_FUNCTIONS;
        end(&made, facts);
    }
    print_message("10 %% slower postgres, disks differ: first in %u of %u\n", first, SLOWER_TRIALS);
    assert_true(first * 100 >= SLOWER_TRIALS * 95);
}

/* A new release recorded once is held against how much recordings of the old one differ. */
static void one_recording_borrows_from_many(void **state)
{
    (void)state;
    unsigned alarms = 0;
    for (uint64_t seed = 1; seed <= SLOWER_TRIALS; seed++) {
        struct wp_facts facts[2], lone[2];
        struct wp_compare made;
        struct service_options options = {
            .seed = seed * 64 + 63, .seconds = 60, .requests = 100, .steps = 0.02, .later_s = 900};
        options.slower[SERVICE_DISK] = days_disk(options.seed);
        recorded_in_turns(facts, 9000 + seed, 0);
        build(&lone[1], "v3", sample_service(&options));
        lone[0] = facts[0];
        compare(&made, lone, &WP_COMPARE_DEFAULTS);
        assert_int_equal(made.operand[1].intervals, 1);
        alarms += made.is_degraded;
        wp_compare_fini(&made);
        wp_facts_fini(&lone[1]);
        wp_facts_fini(&facts[0]);
        wp_facts_fini(&facts[1]);
    }
    print_message("one recording against four: %u of %u raise an alarm\n", alarms, SLOWER_TRIALS);
    assert_true(alarms * 100 <= SLOWER_TRIALS * 2);
}

static void methods_make_verdicts(void **state)
{
    (void)state;
    struct wp_facts facts[2];
    struct wp_compare made;
    for (int method = WP_METHOD_AVERAGE; method < WP_METHODS; method++) {
        struct wp_compare_options options = WP_COMPARE_DEFAULTS;
        struct wp_pool pool = {0};
        struct wp_buffer text = {0}, json = {0}, junit = {0};
        options.method = (enum wp_method)method;
        /* No piece of the sample is longer than a second. */
        options.threshold_percent = method == WP_METHOD_AVERAGE ? 50 : wp_method_threshold(options.method);
        services(facts, 11, 600, 1.5);
        compare(&made, facts, &options);
        const struct wp_change *hop = find(&made, WP_CHANGE_HOPS, "web › postgres", WP_BLOCKING_IO);
        const struct wp_change *function = find(&made, WP_CHANGE_FUNCTIONS, "pread", -1);
        const struct wp_change *row = method == WP_METHOD_OUTLIERS ? function : hop;
        if (method == WP_METHOD_MODEL) /* as flat as before, on another level */
            assert_int_equal(row->verdict, WP_VERDICT_SAME);
        else
            assert_int_equal(row->verdict, WP_VERDICT_WORSE);
        assert_int_equal(made.is_degraded, method != WP_METHOD_MODEL);
        if (method != WP_METHOD_MODEL)
            assert_non_null(strstr(wp_compare_sentence(&pool, &made, row), wp_method_key(options.method)));
        as_text(&text, &made);
        assert_int_equal(wp_format_check_json(&json, &made, NULL), 0);
        assert_int_equal(wp_format_check_junit(&junit, &made, NULL), 0);
        assert_non_null(strstr((const char *)json.data, wp_method_key(options.method)));
        bool has_models = method == WP_METHOD_MODEL || method == WP_METHOD_INTEGRAL;
        assert_int_equal(strstr((const char *)json.data, "\"x_interval_end\"") != NULL, has_models);
        assert_int_equal(row->assessment.has_models, has_models);
        assert_int_equal(strstr((const char *)junit.data, "<failure") != NULL, method != WP_METHOD_MODEL);
        if (method == WP_METHOD_OUTLIERS)
            assert_int_equal(find(&made, WP_CHANGE_FUNCTIONS, "postgres", -1)->assessment.severity, WP_SEVERITY_TOTAL);
        wp_buffer_fini(&text);
        wp_buffer_fini(&json);
        wp_buffer_fini(&junit);
        wp_pool_fini(&pool);
        end(&made, facts);
    }
}

static void compare_golden(const char *name, const struct wp_buffer *out)
{
    char path[512];
    struct wp_buffer wanted = {0};
    struct wp_error err = {0};
    snprintf(path, sizeof(path), "%s/golden/%s", WP_TEST_SOURCE, name);
    if (getenv("WP_UPDATE_GOLDEN"))
        assert_int_equal(wp_file_write_atomic(path, out->data, out->size, &err), 0);
    if (wp_file_read(path, 1 << 24, &wanted, &err))
        fail_msg("%s", err.text);
    assert_string_equal((const char *)out->data, (const char *)wanted.data);
    wp_buffer_fini(&wanted);
}

static void formats_match_golden_files(void **state)
{
    (void)state;
    struct wp_facts facts[2];
    struct wp_compare made;
    struct wp_buffer text = {0}, json = {0}, junit = {0};
    services(facts, 5, 900, 0.2);
    compare(&made, facts, &WP_COMPARE_DEFAULTS);
    assert_true(made.is_degraded);
    as_text(&text, &made);
    assert_int_equal(wp_format_check_json(&json, &made, NULL), 0);
    assert_int_equal(wp_format_check_junit(&junit, &made, NULL), 0);
    compare_golden("compare.txt", &text);
    compare_golden("compare.json", &json);
    compare_golden("compare.xml", &junit);
    wp_buffer_fini(&text);
    wp_buffer_fini(&json);
    wp_buffer_fini(&junit);
    end(&made, facts);
}

/* Half the disk's time is moved elsewhere: every view of it says so, in the words for it. */
static void all_views_agree(void **state)
{
    (void)state;
    struct wp_facts facts[2];
    struct wp_compare made;
    services(facts, 7, 600, -0.5);
    compare(&made, facts, &WP_COMPARE_DEFAULTS);
    const struct wp_change *hop = find(&made, WP_CHANGE_HOPS, "web › postgres", WP_BLOCKING_IO);
    assert_non_null(hop);
    assert_int_equal(hop->verdict, WP_VERDICT_BETTER);
    assert_near(hop->percent, -50, 3);
    assert_int_equal(find(&made, WP_CHANGE_PROCESSES, "[postgres]", -1)->verdict, WP_VERDICT_BETTER);
    assert_int_equal(find(&made, WP_CHANGE_CATEGORIES, "Blocking I/O", -1)->verdict, WP_VERDICT_BETTER);
    assert_int_equal(find(&made, WP_CHANGE_FUNCTIONS, "pread", -1)->verdict, WP_VERDICT_BETTER);
    uint64_t sum[2] = {0};
    for (size_t i = 0; i < made.changes[WP_CHANGE_HOPS].count; i++)
        for (int operand = 0; operand < 2; operand++)
            sum[operand] += made.changes[WP_CHANGE_HOPS].rows[i].ns[operand];
    for (int operand = 0; operand < 2; operand++) /* hops part the whole: nothing is left out and nothing is twice */
        assert_int_equal(sum[operand], made.operand[operand].total_ns);
    const struct wp_flame *flame = &facts[1].flame;
    assert_near((double)made.flames[1].other_ns[0], (double)made.operand[0].total_ns, 2);
    unsigned blue = 0;
    for (uint32_t i = 0; i < flame->count; i++) {
        const char *name = wp_facts_frame_name(&facts[1], flame->nodes[i].frame);
        blue += !strcmp(name, "io:read vda") && made.flames[1].marks[i] == WP_VERDICT_BETTER;
        assert_false(!strcmp(name, "render") && made.flames[1].marks[i] == WP_VERDICT_BETTER);
    }
    assert_int_equal(blue, 1);
    struct wp_pool pool = {0};
    const char *sentence = wp_compare_sentence(&pool, &made, hop);
    assert_non_null(strstr(sentence, "web › postgres waits for the disk"));
    assert_non_null(strstr(sentence, "% less"));
    struct wp_change none = *hop; /* of what is measured there was nothing */
    none.rate[WP_BEFORE].value = 0;
    none.percent = INFINITY;
    assert_non_null(strstr(wp_compare_sentence(&pool, &made, &none), "where it was nothing before"));
    wp_pool_fini(&pool);
    end(&made, facts);
}

static void ignored_categories_are_not_judged(void **state)
{
    (void)state;
    struct wp_facts facts[2];
    struct wp_compare made;
    struct wp_compare_options options = WP_COMPARE_DEFAULTS;
    services(facts, 9, 600, -0.5); /* what the disk no longer takes is idle */
    compare(&made, facts, &options);
    assert_int_equal(find(&made, WP_CHANGE_HOPS, "web", WP_REMOTE_NOT_TRACED)->verdict, WP_VERDICT_WORSE);
    assert_true(made.is_degraded);
    wp_compare_fini(&made);
    options.ignored = 1u << WP_REMOTE_NOT_TRACED;
    compare(&made, facts, &options);
    assert_int_equal(find(&made, WP_CHANGE_HOPS, "web", WP_REMOTE_NOT_TRACED)->verdict, WP_VERDICT_SAME);
    assert_false(made.is_degraded);
    end(&made, facts);
}

static void units_scale_and_verdicts_do_not_follow_length(void **state)
{
    (void)state;
    struct service_options before = {.seed = 3, .seconds = 400, .requests = 100, .steps = 0.02}, after = before;
    struct wp_facts facts[2];
    struct wp_compare made;
    struct wp_compare_options options = WP_COMPARE_DEFAULTS;
    after.seed = 4;
    after.seconds = 800;
    build(&facts[0], "v1", sample_service(&before));
    build(&facts[1], "v2", sample_service(&after));
    compare(&made, facts, &options);
    assert_int_equal(made.worse + made.better, 0);
    wp_compare_fini(&made);
    options.per = WP_PER_RECORDING; /* here the longer one is longer */
    compare(&made, facts, &options);
    const struct wp_change *hop = find(&made, WP_CHANGE_HOPS, "web › postgres", WP_BLOCKING_IO);
    assert_near(hop->percent, 100, 8);
    assert_int_equal(hop->verdict, WP_VERDICT_WORSE);
    assert_near(hop->rate[0].value, (double)hop->ns[0], 1e-6 * (double)hop->ns[0]);
    end(&made, facts);
}

/* Reports of an old version hold no samples: shown, never judged. So is one that lasted no time, and an empty one. */
static void what_cannot_be_tested_is_not_judged(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct wp_facts facts[2];
        struct wp_compare made;
        struct service_options options = {.seed = 3, .seconds = 1, .requests = 10};
        build(&facts[0], "v1", round == 0 ? sample_report() : sample_service(&options));
        options.requests = 100;
        build(&facts[1], "v2",
            round == 0       ? sample_report()
                : round == 1 ? sample_service(&options)
                             : wp_report_create());
        compare(&made, facts, &WP_COMPARE_DEFAULTS);
        struct wp_buffer text = {0}, json = {0};
        if (round != 1) {
            assert_false(made.is_degraded);
            assert_int_equal(made.worse + made.better, 0);
        }
        as_text(&text, &made);
        assert_non_null(strstr((const char *)text.data, "v2 against v1"));
        if (round == 0)
            assert_non_null(strstr((const char *)text.data, "holds no samples"));
        assert_int_equal(wp_format_check_json(&json, &made, NULL), 0);
        assert_null(strstr((const char *)json.data, ": nan"));
        if (round == 0) /* what the text says before all rows */
            assert_non_null(strstr(strstr((const char *)json.data, "\"notices\""), "holds no samples"));
        wp_buffer_fini(&text);
        wp_buffer_fini(&json);
        end(&made, facts);
    }
}

static void hostile_names_stay_text(void **state)
{
    (void)state;
    struct wp_facts facts[2];
    struct wp_compare made;
    struct wp_buffer html = {0}, text = {0}, junit = {0}, json = {0}, data = {0};
    build(&facts[0], "v1", sample_hostile_report());
    build(&facts[1], "v2", sample_hostile_report());
    compare(&made, facts, &WP_COMPARE_DEFAULTS);
    struct wp_display display;
    wp_display_init(&display, &(struct wp_page_id){WP_PAGE_COMPARE, "v2", "main"});
    assert_int_equal(wp_page_compare(&display, &made, true, NULL), 0);
    assert_int_equal(wp_format_html(&html, &display, NULL), 0);
    assert_int_equal(wp_format_text(&text, &display, NULL), 0);
    assert_int_equal(wp_format_check_junit(&junit, &made, NULL), 0);
    assert_int_equal(wp_format_check_json(&json, &made, NULL), 0);
    assert_int_equal(wp_view_data_compare(&data, &facts[1], &made, NULL), 0);
    assert_null(strstr((const char *)html.data, "<script>alert"));
    assert_null(strstr((const char *)junit.data, "<script>"));
    assert_null(strchr((const char *)text.data, '\x1b'));
    assert_null(strchr((const char *)junit.data, '\x1b'));
    assert_null(strstr((const char *)data.data, "</script"));
    assert_true(html.size < 2000000);
    struct wp_buffer *const all[] = {&html, &text, &junit, &json, &data};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        wp_buffer_fini(all[i]);
    wp_display_fini(&display);
    end(&made, facts);
}

static struct wp_report *installed_in(const char *folder, uint64_t ns)
{
    char stack[200];
    struct wp_report *report = wp_report_create();
    assert_non_null(report);
    for (unsigned i = 0; i < 20; i++) {
        snprintf(stack, sizeof(stack), "[api];main@%s/api;handle@%s/api", folder, folder);
        wp_report_add_at(report, sample_node(report, stack), WP_UNDERSTOOD_FUNCTIONS,
            1790000000000000000u + i * 1000000000u, 1790000000000000000u + i * 1000000000u + ns);
        snprintf(stack, sizeof(stack),
            "[api];main@%s/api;read@/usr/lib/libc.so.6;k:pipe_read;k:schedule;k:__schedule;sleep:read", folder);
        wp_report_add_at(report, sample_node(report, stack), WP_TIMEOUT, 1790000000000000000u + i * 1000000000u + ns,
            1790000000000000000u + i * 1000000000u + 3 * ns);
    }
    return report;
}

/* "/opt/api-1.8/api" and "/opt/api-1.9/api" are one file to who compares them; what lies where it lay keeps its path.
 */
static void files_are_found_again_in_another_folder(void **state)
{
    (void)state;
    struct wp_facts facts[2];
    struct wp_compare made;
    build(&facts[0], "v1", installed_in("/opt/api-1.8", 10000000));
    build(&facts[1], "v2", installed_in("/opt/api-1.9", 10000000));
    compare(&made, facts, &WP_COMPARE_DEFAULTS);
    const struct wp_changes *functions = &made.changes[WP_CHANGE_FUNCTIONS];
    assert_int_equal(functions->count, 2);
    bool is_waiting = false, is_running = false;
    for (size_t i = 0; i < functions->count; i++) {
        const struct wp_change *row = &functions->rows[i];
        assert_true(row->ns[WP_BEFORE] == row->ns[WP_AFTER] && row->ns[WP_AFTER]);
        is_running |= !strcmp(row->name, "handle") && !strcmp(row->note, "api");
        is_waiting |= !strcmp(row->name, "pipe_read"); /* not the scheduler that it calls */
    }
    assert_true(is_running && is_waiting);
    for (uint32_t i = 0; i < made.flames[WP_AFTER].count; i++)
        assert_int_equal(made.flames[WP_AFTER].other_ns[i], facts[1].flame.nodes[i].total_ns);
    end(&made, facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(student_matches_tables),
        cmocka_unit_test(welch_takes_both_errors), cmocka_unit_test(rates_know_their_error),
        cmocka_unit_test(many_tests_are_adjusted), cmocka_unit_test(equal_releases_raise_no_alarm),
        cmocka_unit_test(five_percent_in_one_hop_come_first), cmocka_unit_test(recordings_that_differ_raise_no_alarm),
        cmocka_unit_test(a_slower_hop_is_found_between_recordings), cmocka_unit_test(one_recording_borrows_from_many),
        cmocka_unit_test(methods_make_verdicts), cmocka_unit_test(formats_match_golden_files),
        cmocka_unit_test(all_views_agree), cmocka_unit_test(ignored_categories_are_not_judged),
        cmocka_unit_test(units_scale_and_verdicts_do_not_follow_length),
        cmocka_unit_test(what_cannot_be_tested_is_not_judged),
        cmocka_unit_test(files_are_found_again_in_another_folder), cmocka_unit_test(hostile_names_stay_text)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
