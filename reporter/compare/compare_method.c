/* SPDX-License-Identifier: Apache-2.0 */
/* What the method that was asked for says of the rows of a comparison. */
#include "reporter/compare/compare_method.h"

#include "reporter/compare/change.h"
#include "reporter/compare/compare_build.h"
#include "reporter/compare/method_outliers.h"
#include "reporter/compare/method_series.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SEVERE_PERCENT 25.0

static bool is_series(enum wp_method method)
{
    return method == WP_METHOD_AVERAGE || method == WP_METHOD_MODEL || method == WP_METHOD_INTEGRAL ||
        method == WP_METHOD_LOCAL;
}

/* On one side only; false when it is on both. */
static bool assess_lone(struct wp_change *change)
{
    bool is_new = !change->ns[WP_BEFORE] && change->ns[WP_AFTER],
         is_gone = change->ns[WP_BEFORE] && !change->ns[WP_AFTER];
    if (is_new || is_gone)
        change->assessment = (struct wp_assessment){.severity = is_new ? WP_SEVERITY_NEW : WP_SEVERITY_GONE,
            .direction = is_new ? 1 : -1,
            .rate = is_new ? INFINITY : -1,
            .confidence = NAN};
    return is_new || is_gone;
}

int wp_compare_assess_series(
    const struct wp_compare_build *build, struct wp_change *change, const struct wp_row_sums *sums, uint32_t row)
{
    const struct wp_compare_options *options = &build->compare->options;
    struct wp_series operand[2];
    if (!is_series(options->method) || assess_lone(change))
        return 0;
    for (int i = 0; i < 2; i++) {
        uint32_t buckets = build->compare->operand[i].buckets;
        operand[i] = (struct wp_series){.part = &sums->parts[i][(size_t)row * buckets],
            .activity = build->activity[i],
            .count = buckets,
            .mean_piece = change->count[i] ? (double)change->ns[i] / (double)change->count[i] : 0};
    }
    return wp_method_series(options->method, &change->assessment, operand, options->threshold_percent) ? 0 : -ENOMEM;
}

static bool is_of(const struct wp_change *change, const char *object)
{
    return change->note && !strcmp(change->note, object);
}

/* All functions of an object as one row; `at` is the first of them. */
static struct wp_change total_of(const struct wp_changes *changes, size_t at, size_t count)
{
    const char *object = changes->rows[at].note;
    struct wp_change total = {.name = *object ? object : "(no object)", .note = "all its functions", .category = -1};
    for (size_t i = at; i < count; i++)
        for (int operand = 0; operand < 2 && is_of(&changes->rows[i], object); operand++) {
            total.ns[operand] += changes->rows[i].ns[operand];
            total.count[operand] += changes->rows[i].count[operand];
            total.rate[operand].value += changes->rows[i].rate[operand].value;
        }
    total.delta = total.rate[WP_AFTER].value - total.rate[WP_BEFORE].value;
    total.percent = total.rate[WP_BEFORE].value > 0 ? 100 * total.delta / total.rate[WP_BEFORE].value
        : total.delta > 0                           ? INFINITY
                                                    : 0;
    total.p = total.adjusted = 1;
    total.assessment = (struct wp_assessment){.severity = WP_SEVERITY_TOTAL,
        .direction = total.delta > 0 ? 1
            : total.delta < 0        ? -1
                                     : 0,
        .rate = total.percent / 100,
        .confidence = NAN};
    return total;
}

/* Appends the totals; the rows have room for as many again. */
static void add_totals(struct wp_changes *changes)
{
    size_t functions = changes->count;
    for (size_t i = 0; i < functions; i++) {
        bool is_first = changes->rows[i].note != NULL;
        for (size_t j = 0; j < i && is_first; j++)
            is_first = !is_of(&changes->rows[j], changes->rows[i].note);
        if (is_first)
            changes->rows[changes->count++] = total_of(changes, i, functions);
    }
}

int wp_compare_assess_outliers(struct wp_compare *compare, double material)
{
    struct wp_changes *changes = &compare->changes[WP_CHANGE_FUNCTIONS];
    size_t count = changes->count;
    if (compare->options.method != WP_METHOD_OUTLIERS)
        return 0;
    struct wp_outlier_row *rows = calloc(count + 1, sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    add_totals(changes);
    for (size_t i = 0; i < count; i++) {
        struct wp_change *change = &changes->rows[i];
        rows[i] =
            (struct wp_outlier_row){.before = change->rate[WP_BEFORE].value, .after = change->rate[WP_AFTER].value};
        for (size_t j = count; j < changes->count && change->note; j++)
            if (!strcmp(changes->rows[j].name, *change->note ? change->note : "(no object)"))
                rows[i].whole = changes->rows[j].rate[WP_BEFORE].value;
    }
    bool is_done = wp_method_outliers(rows, count, compare->options.threshold_percent, material);
    for (size_t i = 0; i < count; i++)
        changes->rows[i].assessment = rows[i].assessment;
    free(rows);
    return is_done ? 0 : -ENOMEM;
}

/* What the test found, in the words of all methods. */
static void assess_test(const struct wp_compare *compare, struct wp_change *change)
{
    bool is_worse = change->verdict == WP_VERDICT_WORSE, is_better = change->verdict == WP_VERDICT_BETTER;
    double toward = change->kind == WP_CHANGE_RATE ? -change->delta : change->delta;
    bool is_maybe =
        toward > 0 && change->p < compare->options.alpha && fabs(change->percent) >= compare->options.threshold_percent;
    if (change->verdict == WP_VERDICT_FEW)
        change->assessment.severity = WP_SEVERITY_UNKNOWN;
    else if (!(is_worse || is_better) || !assess_lone(change))
        change->assessment.severity = is_better       ? WP_SEVERITY_LESS
            : !is_worse                               ? (is_maybe ? WP_SEVERITY_MAYBE : WP_SEVERITY_NONE)
            : fabs(change->percent) >= SEVERE_PERCENT ? WP_SEVERITY_SEVERE
                                                      : WP_SEVERITY_CHANGE;
    change->assessment.direction = toward > 0 ? 1 : toward < 0 ? -1 : 0;
    change->assessment.rate = change->percent / 100;
    change->assessment.confidence = change->verdict == WP_VERDICT_FEW ? NAN : 1 - change->adjusted;
    change->assessment.confidence_kind = "1 - p";
}

bool wp_compare_is_judged(const struct wp_compare *compare, enum wp_change_family family)
{
    if (family == WP_CHANGE_WHOLE)
        return true;
    return (family == WP_CHANGE_FUNCTIONS) == (compare->options.method == WP_METHOD_OUTLIERS) &&
        family < WP_CHANGE_FAMILIES;
}

static void conclude_by_method(
    const struct wp_compare *compare, struct wp_change *change, enum wp_change_family family, double material)
{
    enum wp_method method = compare->options.method;
    enum wp_severity severity = change->assessment.severity;
    bool is_change = severity == WP_SEVERITY_CHANGE || severity == WP_SEVERITY_SEVERE || severity == WP_SEVERITY_NEW ||
        severity == WP_SEVERITY_GONE;
    /* Pieces that take twice as long are told even where there are half as many. */
    bool is_material = method == WP_METHOD_AVERAGE || method == WP_METHOD_MODEL || fabs(change->delta) >= material;
    bool is_judged = is_series(method) || family == WP_CHANGE_FUNCTIONS;
    change->verdict = severity == WP_SEVERITY_UNKNOWN ? WP_VERDICT_FEW : WP_VERDICT_SAME;
    if (!is_judged)
        change->assessment =
            (struct wp_assessment){.severity = WP_SEVERITY_UNKNOWN, .confidence = NAN, .rate = change->percent / 100};
    if (is_change && is_material && is_judged && !change->is_ignored && change->assessment.direction)
        change->verdict = change->assessment.direction > 0 ? WP_VERDICT_WORSE : WP_VERDICT_BETTER;
    if (change->assessment.direction < 0 &&
        (severity == WP_SEVERITY_MAYBE || severity == WP_SEVERITY_CHANGE || severity == WP_SEVERITY_SEVERE))
        change->assessment.severity = change->verdict == WP_VERDICT_BETTER ? WP_SEVERITY_LESS : WP_SEVERITY_NONE;
}

void wp_compare_conclude(
    const struct wp_compare *compare, struct wp_change *change, enum wp_change_family family, double material)
{
    bool is_tested = compare->options.method == WP_METHOD_T_TEST || family == WP_CHANGE_WHOLE;
    if (is_tested && family != WP_CHANGE_WHOLE) /* the whole has its verdict before all others */
        wp_change_judge(compare, change, material);
    else if (!is_tested)
        conclude_by_method(compare, change, family, material);
    if (wp_change_is_moved(compare, change)) {
        change->verdict = WP_VERDICT_SAME; /* what takes less while the whole takes longer has only moved */
        change->assessment.severity = WP_SEVERITY_NONE;
    }
    if (is_tested)
        assess_test(compare, change);
}
