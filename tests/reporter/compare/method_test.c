/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "reporter/base/quantile.h"
#include "reporter/compare/method.h"
#include "reporter/compare/method_outliers.h"
#include "reporter/compare/method_series.h"
#include "reporter/compare/model_fit.h"
#include "reporter/compare/moderation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 40u

static double life[BUCKETS];

static void fill(double part[BUCKETS], double (*rate)(double x))
{
    for (size_t i = 0; i < BUCKETS; i++) {
        life[i] = 1e9;
        part[i] = rate((double)i + 0.5) * 1e9;
    }
}

static double flat(double x)
{
    return 0.1 + 0.0004 * sin(x * 7);
}

static double flat_15(double x)
{
    return 1.15 * flat(x);
}

static double flat_30(double x)
{
    return 1.30 * flat(x);
}

static double line(double x)
{
    return 0.1 + 0.01 * x + 0.0004 * sin(x * 7);
}

static double falling(double x)
{
    return 0.6 - 0.01 * x + 0.0004 * sin(x * 7);
}

static double square(double x)
{
    return 0.1 + 0.001 * x * x + 0.0004 * sin(x * 7);
}

static double growth(double x)
{
    return 0.01 * exp(0.12 * x);
}

static struct wp_assessment judge(enum wp_method method, double (*before)(double), double (*after)(double))
{
    double parts[2][BUCKETS];
    struct wp_assessment found;
    fill(parts[0], before);
    fill(parts[1], after);
    const struct wp_series operand[2] = {{parts[0], life, BUCKETS, 100}, {parts[1], life, BUCKETS, 100}};
    assert_true(wp_method_series(method, &found, operand, wp_method_threshold(method)));
    return found;
}

static void the_average_piece_is_held_to_twice(void **state)
{
    (void)state;
    static const struct {
        double before, after;
        enum wp_severity severity;
        int direction;
    } cases[] = {{100, 200, WP_SEVERITY_CHANGE, 1}, {100, 199, WP_SEVERITY_NONE, 1}, {100, 50, WP_SEVERITY_CHANGE, -1},
        {100, 51, WP_SEVERITY_NONE, -1}, {0, 50, WP_SEVERITY_UNKNOWN, 0}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct wp_series operand[2] = {{.mean_piece = cases[i].before}, {.mean_piece = cases[i].after}};
        struct wp_assessment found;
        assert_true(wp_method_series(WP_METHOD_AVERAGE, &found, operand, 100));
        assert_int_equal(found.severity, cases[i].severity);
        assert_int_equal(found.direction, cases[i].direction);
        assert_true(isnan(found.confidence)); /* the method knows none */
    }
}

static void models_are_told_apart(void **state)
{
    (void)state;
    static const struct {
        double (*rate)(double);
        enum wp_model_kind kind;
    } cases[] = {{flat, WP_MODEL_CONSTANT}, {line, WP_MODEL_LINEAR}, {falling, WP_MODEL_LINEAR},
        {square, WP_MODEL_QUADRATIC}, {growth, WP_MODEL_EXPONENTIAL}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double x[BUCKETS], y[BUCKETS];
        struct wp_model model;
        for (size_t at = 0; at < BUCKETS; at++) {
            x[at] = (double)at + 0.5;
            y[at] = cases[i].rate(x[at]);
        }
        assert_true(wp_model_best(&model, x, y, BUCKETS));
        assert_string_equal(wp_model_key(model.kind), wp_model_key(cases[i].kind));
        assert_true(model.r_square > 0.9);
        assert_false(wp_model_best(&model, x, y, 3));
    }
}

static void a_curve_of_a_higher_order_is_a_degradation(void **state)
{
    (void)state;
    struct wp_assessment found = judge(WP_METHOD_MODEL, flat, line);
    assert_int_equal(found.severity, WP_SEVERITY_CHANGE);
    assert_int_equal(found.direction, 1);
    assert_true(found.rate == WP_MODEL_LINEAR && found.confidence > 0.9);
    assert_true(found.has_models);
    assert_string_equal(wp_model_key(found.models[0].model.kind), "constant");
    assert_string_equal(wp_model_key(found.models[1].model.kind), "linear");
    assert_true(found.models[1].from > 0 && found.models[1].to > found.models[1].from);
    assert_int_equal(wp_model_terms(WP_MODEL_CONSTANT) + wp_model_terms(WP_MODEL_QUADRATIC), 4);
    assert_int_equal(judge(WP_METHOD_MODEL, square, line).direction, -1);
    assert_int_equal(judge(WP_METHOD_MODEL, flat, falling).direction, -1); /* of a higher order, and it falls */
    assert_int_equal(judge(WP_METHOD_MODEL, flat, flat_30).severity, WP_SEVERITY_NONE);
}

static void areas_and_sections_are_held_to_a_quarter(void **state)
{
    (void)state;
    static const enum wp_method both[] = {WP_METHOD_INTEGRAL, WP_METHOD_LOCAL};
    for (size_t i = 0; i < 2; i++) {
        struct wp_assessment found = judge(both[i], flat, flat_30);
        assert_int_equal(found.severity, WP_SEVERITY_CHANGE);
        assert_int_equal(found.direction, 1);
        assert_true(fabs(found.rate - 0.30) < 0.01);
        assert_true(found.confidence > 0.9);
        assert_int_equal(judge(both[i], flat, flat_15).severity, WP_SEVERITY_MAYBE);
        assert_int_equal(judge(both[i], flat, flat).severity, WP_SEVERITY_NONE);
        assert_int_equal(judge(both[i], line, flat).direction, -1);
    }
}

static void operands_are_cut_to_the_shorter_one(void **state)
{
    (void)state;
    double before[BUCKETS], after[BUCKETS];
    struct wp_assessment found;
    fill(before, line);
    fill(after, line);
    /* Half as long: the second half of a growing row would make it look shrunk. */
    const struct wp_series operand[2] = {{before, life, BUCKETS, 1}, {after, life, BUCKETS / 2, 1}};
    assert_true(wp_method_series(WP_METHOD_LOCAL, &found, operand, 25));
    assert_int_equal(found.severity, WP_SEVERITY_NONE);
    const struct wp_series brief[2] = {{before, life, BUCKETS, 1}, {after, life, 3, 1}};
    assert_true(wp_method_series(WP_METHOD_LOCAL, &found, brief, 25));
    assert_int_equal(found.severity, WP_SEVERITY_UNKNOWN);
    const struct wp_series empty[2] = {{before, life, BUCKETS, 1}, {after, life, 0, 1}};
    assert_true(wp_method_series(WP_METHOD_INTEGRAL, &found, empty, 25));
    assert_int_equal(found.severity, WP_SEVERITY_UNKNOWN);
}

static void outliers_are_told_by_all_others(void **state)
{
    (void)state;
    struct wp_outlier_row rows[14] = {{0}};
    for (size_t i = 0; i < 14; i++) {
        rows[i].before = 1000 + 10 * (double)i;
        rows[i].after = rows[i].before + (i % 2 ? 5 : -5) + (double)i / 4;
        rows[i].whole = 20000;
    }
    rows[3].after += 900;
    rows[5].after = 0;
    rows[7].before = 0;
    assert_true(wp_method_outliers(rows, 14, 0, 1));
    assert_int_equal(rows[3].assessment.severity, WP_SEVERITY_SEVERE);
    assert_int_equal(rows[3].assessment.direction, 1);
    assert_string_equal(rows[3].assessment.confidence_kind, "IQR_multiple");
    assert_true(rows[3].assessment.confidence > 10);
    assert_int_equal(rows[5].assessment.severity, WP_SEVERITY_GONE);
    assert_int_equal(rows[7].assessment.severity, WP_SEVERITY_NEW);
    assert_int_equal(rows[7].assessment.direction, 1);
    for (size_t i = 8; i < 14; i++)
        assert_int_equal(rows[i].assessment.severity, WP_SEVERITY_NONE);
    assert_true(wp_method_outliers(rows, 14, 10, 1)); /* a tenth of its object and less is none: 900 of 20,000 */
    assert_int_equal(rows[3].assessment.severity, WP_SEVERITY_NONE);
    assert_true(wp_method_outliers(rows, 3, 0, 1)); /* too few to tell what is usual */
    assert_int_equal(rows[0].assessment.severity, WP_SEVERITY_UNKNOWN);
    assert_true(wp_method_outliers(rows, 0, 0, 1));
}

/* Sums of squares of normal numbers: chi-squared. */
static double chi_square(unsigned freedom, uint64_t *seed)
{
    double sum = 0;
    for (unsigned i = 0; i < freedom; i++) {
        double u[2];
        for (int k = 0; k < 2; k++) {
            *seed = *seed * 6364136223846793005u + 1442695040888963407u;
            u[k] = ((double)(*seed >> 11) + 0.5) / 9007199254740992.0;
        }
        double normal = sqrt(-2 * log(u[0])) * cos(6.283185307179586 * u[1]);
        sum += normal * normal;
    }
    return sum;
}

static void ratios_are_drawn_to_their_middle(void **state)
{
    (void)state;
    struct wp_variance_ratio rows[400];
    uint64_t seed = 7;
    for (size_t i = 0; i < 400; i++) /* all of one variance ratio, 2: they vary by chance alone */
        rows[i] = (struct wp_variance_ratio){2 * chi_square(3, &seed) / 3, 3};
    struct wp_moderation alike = wp_moderation_of(rows, 400);
    assert_true(alike.freedom > 20 && fabs(alike.ratio - 2) < 0.3);
    for (size_t i = 0; i < 400; i++) /* scaled F of 3 and 4 degrees of freedom */
        rows[i].ratio = 2 * (chi_square(3, &seed) / 3) / (chi_square(4, &seed) / 4);
    struct wp_moderation wide = wp_moderation_of(rows, 400);
    assert_true(wide.freedom > 2.5 && wide.freedom < 6.5 && fabs(wide.ratio - 2) < 0.6);
    struct wp_variance_ratio moderated = wp_moderate(&wide, &(struct wp_variance_ratio){10, 3});
    assert_true(moderated.ratio > wide.ratio && moderated.ratio < 10 && moderated.freedom == wide.freedom + 3);
    struct wp_moderation none = wp_moderation_of(rows, 2);
    assert_true(none.freedom == 0);
    moderated = wp_moderate(&none, &rows[0]);
    assert_true(moderated.ratio == rows[0].ratio && moderated.freedom == 3);
    rows[0].ratio = 0; /* a row that did not vary has no logarithm */
    assert_true(isfinite(wp_moderation_of(rows, 10).ratio));
}

static void quantiles_are_between_ranks(void **state)
{
    (void)state;
    double values[] = {4, 1, 3, 2};
    wp_sort_doubles(values, 4);
    assert_true(values[0] == 1 && values[3] == 4);
    assert_true(wp_quantile(values, 4, 0.5) == 2.5 && wp_quantile(values, 4, 0) == 1 && wp_quantile(values, 4, 1) == 4);
    assert_true(wp_quantile(values, 1, 0.9) == 1);
}

static void names_lead_back(void **state)
{
    (void)state;
    for (int i = 0; i < WP_METHODS; i++)
        assert_int_equal(wp_method_find(wp_method_key((enum wp_method)i)), i);
    assert_int_equal(wp_method_find("guess"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_average_piece_is_held_to_twice),
        cmocka_unit_test(models_are_told_apart), cmocka_unit_test(a_curve_of_a_higher_order_is_a_degradation),
        cmocka_unit_test(areas_and_sections_are_held_to_a_quarter),
        cmocka_unit_test(operands_are_cut_to_the_shorter_one), cmocka_unit_test(outliers_are_told_by_all_others),
        cmocka_unit_test(ratios_are_drawn_to_their_middle), cmocka_unit_test(quantiles_are_between_ranks),
        cmocka_unit_test(names_lead_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
