/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows followed over the course of a recording. Perun's methods of the same names
 * (perun/check/average_amount_threshold.py, best_model_order_equality.py, integral_comparison.py, local_statistics.py)
 * follow an amount over the size of a structure; here it is a rate over the time since the recording began, as far as
 * both sides went.
 */
#include "reporter/compare/method_series.h"

#include "reporter/base/quantile.h"
#include "reporter/compare/method.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAYBE_SHARE 0.4 /* of the threshold: Perun's 10 % of 25 % */
#define MODEL_CONFIDENCE 0.9
#define LEAST_POINTS 4u
#define SECTIONS 20u /* at most, and of two points at least */
#define STATISTICS 8
#define STEPS 200 /* of an integral */

struct points {
    double *x, *y; /* activity until the middle of the bucket, in s; rate */
    size_t count;
    double length;
};

static bool take_points(struct points *points, const struct wp_series *operand)
{
    double before = 0;
    points->x = calloc(2 * operand->count + 2, sizeof(*points->x));
    if (!points->x)
        return false;
    points->y = points->x + operand->count + 1;
    for (size_t i = 0; i < operand->count; i++) {
        if (operand->activity[i] <= 0)
            continue;
        points->x[points->count] = (before + operand->activity[i] / 2) / 1e9;
        points->y[points->count++] = operand->part[i] / operand->activity[i];
        before += operand->activity[i];
    }
    points->length = before / 1e9;
    return true;
}

/* Only as far as both went; the very end of an operand is no fair point: a piece of a bucket. */
static void cut(struct points *points, double length)
{
    while (points->count && points->x[points->count - 1] > length)
        points->count--;
}

static void classify(struct wp_assessment *assessment, double rate, double threshold)
{
    double size = fabs(rate);
    assessment->rate = rate;
    assessment->direction = rate > 0 ? 1 : rate < 0 ? -1 : 0;
    assessment->severity = size > threshold ? WP_SEVERITY_CHANGE
        : size > MAYBE_SHARE * threshold    ? WP_SEVERITY_MAYBE
                                            : WP_SEVERITY_NONE;
}

static double relative(double before, double after)
{
    return before > 0 ? (after - before) / before : 0;
}

static void judge_average(struct wp_assessment *assessment, const struct wp_series operand[2], double threshold)
{
    double before = operand[0].mean_piece, after = operand[1].mean_piece;
    if (before <= 0 || after <= 0)
        return;
    assessment->rate = relative(before, after);
    assessment->direction = after > before ? 1 : after < before ? -1 : 0;
    /* A half is as far from one as two is. */
    assessment->severity =
        after >= before * (1 + threshold) || after * (1 + threshold) <= before ? WP_SEVERITY_CHANGE : WP_SEVERITY_NONE;
}

static double area(const struct wp_model *model, double from, double to)
{
    double sum = 0, step = (to - from) / STEPS;
    for (int i = 0; i <= STEPS; i++) /* Simpson's rule */
        sum += wp_model_at(model, from + i * step) * (!i || i == STEPS ? 1 : i % 2 ? 4 : 2);
    return sum * step / 3;
}

static void judge_models(
    struct wp_assessment *assessment, const struct points operand[2], enum wp_method method, double threshold)
{
    struct wp_fitted *fitted = assessment->models;
    assessment->has_models = wp_model_fit(&fitted[0], operand[0].x, operand[0].y, operand[0].count) &&
        wp_model_fit(&fitted[1], operand[1].x, operand[1].y, operand[1].count);
    if (!assessment->has_models)
        return;
    const struct wp_model *before = &fitted[0].model, *after = &fitted[1].model;
    assessment->confidence = fmin(before->r_square, after->r_square);
    assessment->confidence_kind = "r_square";
    if (method == WP_METHOD_INTEGRAL) {
        double from = fmax(fitted[0].from, fitted[1].from), to = fmin(fitted[0].to, fitted[1].to);
        classify(assessment, to > from ? relative(area(before, from, to), area(after, from, to)) : 0, threshold);
        return;
    }
    bool is_sure = assessment->confidence >= MODEL_CONFIDENCE;
    assessment->rate = is_sure ? (double)after->kind - (double)before->kind : 0;
    assessment->severity = is_sure && before->kind != after->kind ? WP_SEVERITY_CHANGE : WP_SEVERITY_NONE;
    /* A curve of a higher order that falls is no degradation. */
    bool falls = wp_model_at(after, fitted[1].to) < wp_model_at(after, fitted[1].from);
    assessment->direction = assessment->rate > 0 ? (falls ? -1 : 1) : assessment->rate < 0 ? -1 : 0;
}

/* Area, mean, median, greatest, least, sum, both quartiles. */
static void describe(double statistic[STATISTICS], const struct points *points, size_t from, size_t to, double *room)
{
    size_t count = to - from;
    double sum = 0, integral = 0;
    for (size_t i = from; i < to; i++) {
        room[i - from] = points->y[i];
        sum += points->y[i];
        integral += i > from ? (points->y[i] + points->y[i - 1]) / 2 * (points->x[i] - points->x[i - 1]) : 0;
    }
    wp_sort_doubles(room, count);
    const double all[STATISTICS] = {integral, sum / (double)count, wp_quantile(room, count, 0.5), room[count - 1],
        room[0], sum, wp_quantile(room, count, 0.25), wp_quantile(room, count, 0.75)};
    memcpy(statistic, all, sizeof(all));
}

/* A section's mean relative difference of its statistics, and how many of them, at least, went that way for it to have
 * changed. */
static double judge_section(
    const struct points operand[2], size_t from, size_t to, double *room, double threshold, int *direction)
{
    double before[STATISTICS], after[STATISTICS], sum = 0, score = 0;
    describe(before, &operand[0], from, to, room);
    describe(after, &operand[1], from, to, room);
    for (int i = 0; i < STATISTICS; i++) {
        double off = relative(before[i], after[i]), size = fabs(off);
        sum += off;
        score += size <= MAYBE_SHARE * threshold ? 0 : copysign(size <= threshold ? 0.5 : 1, off);
    }
    *direction = fabs(score) < STATISTICS / 2 ? 0 : score > 0 ? 1 : -1;
    return sum / STATISTICS;
}

static bool judge_local(struct wp_assessment *assessment, const struct points operand[2], double threshold)
{
    size_t count = operand[0].count < operand[1].count ? operand[0].count : operand[1].count, sections = count / 2;
    if (count < LEAST_POINTS)
        return true;
    sections = sections > SECTIONS ? SECTIONS : sections;
    double *room = calloc(count, sizeof(*room)), sum = 0;
    int ways[2] = {0};
    if (!room)
        return false;
    for (size_t i = 0; i < sections; i++) {
        int direction = 0;
        sum += judge_section(operand, count * i / sections, count * (i + 1) / sections, room, threshold, &direction);
        if (direction)
            ways[direction > 0]++;
    }
    free(room);
    classify(assessment, sum / (double)sections, threshold);
    assessment->confidence = (double)ways[assessment->rate > 0] / (double)sections;
    assessment->confidence_kind = "sections";
    return true;
}

bool wp_method_series(enum wp_method method, struct wp_assessment *assessment, const struct wp_series operand[2],
    double threshold_percent)
{
    struct points points[2] = {{0}};
    double threshold = threshold_percent / 100;
    *assessment = (struct wp_assessment){.severity = WP_SEVERITY_UNKNOWN, .confidence = NAN};
    if (method == WP_METHOD_AVERAGE) {
        judge_average(assessment, operand, threshold);
        return true;
    }
    bool has_memory = take_points(&points[0], &operand[0]) && take_points(&points[1], &operand[1]);
    if (has_memory) {
        double length = fmin(points[0].length, points[1].length);
        cut(&points[0], length);
        cut(&points[1], length);
        if (points[0].count < LEAST_POINTS || points[1].count < LEAST_POINTS)
            assessment->severity = WP_SEVERITY_UNKNOWN;
        else if (method == WP_METHOD_LOCAL)
            has_memory = judge_local(assessment, points, threshold);
        else
            judge_models(assessment, points, method, threshold);
    }
    free(points[0].x);
    free(points[1].x);
    return has_memory;
}
