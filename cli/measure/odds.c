/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/measure/odds.h"

#include "reporter/compare/significance.h"

#include <math.h>

static double log_of(double ns)
{
    return log(ns + WP_ODDS_LEAST);
}

/* The figure with so many below it; there are few of them. */
static double of_rank(const struct wp_odds_sample *sample, uint32_t rank)
{
    for (uint32_t i = 0; i < sample->count; i++) {
        uint32_t below = 0, same = 0;
        for (uint32_t k = 0; k < sample->count; k++) {
            below += sample->values[k] < sample->values[i];
            same += sample->values[k] == sample->values[i];
        }
        if (below <= rank && rank < below + same)
            return sample->values[i];
    }
    return 0;
}

/* A sample without its least and its largest figures: their mean; the squares with those at the bounds instead. */
struct trimmed {
    uint32_t count;
    double mean, squares;
};

static struct trimmed trim(const struct wp_odds_sample *sample)
{
    uint32_t cut = sample->count / WP_ODDS_TRIM;
    struct trimmed result = {.count = sample->count - 2 * cut};
    if (!sample->count)
        return result;
    double least = log_of(of_rank(sample, cut)), most = log_of(of_rank(sample, sample->count - 1 - cut));
    double all = 0;
    for (uint32_t i = 0; i < sample->count; i++)
        all += fmin(fmax(log_of(sample->values[i]), least), most);
    result.mean = (all - cut * (least + most)) / result.count;
    all /= sample->count;
    for (uint32_t i = 0; i < sample->count; i++) {
        double off = fmin(fmax(log_of(sample->values[i]), least), most) - all;
        result.squares += off * off;
    }
    return result;
}

/* The square of the error of the mean. */
static double error_of(const struct trimmed *sample)
{
    double figure = fmax(sample->squares / (sample->count - 1.0), WP_ODDS_SPREAD * WP_ODDS_SPREAD);
    return figure / sample->count;
}

double wp_odds_same(const struct wp_odds_sample *less, const struct wp_odds_sample *more)
{
    if (less->count < 2 || more->count < 2)
        return 1;
    struct trimmed a = trim(less), b = trim(more);
    double of_a = error_of(&a), of_b = error_of(&b), sum = of_a + of_b;
    double freedom = sum * sum / (of_a * of_a / (a.count - 1.0) + of_b * of_b / (b.count - 1.0));
    double t = (b.mean - a.mean) / sqrt(sum);
    double both = wp_student_tail(t, freedom);
    return t > 0 ? both / 2 : 1 - both / 2;
}

/* The logarithm of the density, but for what both samples have in common. */
static double log_density(const struct trimmed *sample, double spread, double freedom, double value)
{
    double scale = spread * sqrt(1 + 1.0 / sample->count), t = (log_of(value) - sample->mean) / scale;
    return -(freedom + 1) / 2 * log1p(t * t / freedom) - log(scale);
}

double wp_odds_second(
    const struct wp_odds_sample *first, const struct wp_odds_sample *second, const struct wp_odds_sample *figures)
{
    struct trimmed a = trim(first), b = trim(second);
    double sum = 0, freedom = fmin(fmax((double)a.count + b.count - 2, 1), WP_ODDS_FREEDOM);
    double spread = fmax(sqrt((a.squares + b.squares) / fmax((double)a.count + b.count - 2, 1)), WP_ODDS_SPREAD);
    for (uint32_t i = 0; i < figures->count; i++)
        sum +=
            log_density(&b, spread, freedom, figures->values[i]) - log_density(&a, spread, freedom, figures->values[i]);
    return sum;
}

double wp_odds_median(const struct wp_odds_sample *sample)
{
    /* the figure that has as many below as above it, of few */
    double best = 0;
    uint32_t best_rank = UINT32_MAX;
    for (uint32_t i = 0; i < sample->count; i++) {
        uint32_t below = 0, above = 0;
        for (uint32_t k = 0; k < sample->count; k++) {
            below += sample->values[k] < sample->values[i];
            above += sample->values[k] > sample->values[i];
        }
        uint32_t rank = below > above ? below - above : above - below;
        if (rank < best_rank) {
            best_rank = rank;
            best = sample->values[i];
        }
    }
    return best;
}
