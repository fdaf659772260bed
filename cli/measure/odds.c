/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/measure/odds.h"

#include "reporter/compare/significance.h"

#include <math.h>

static double log_of(double ns)
{
    return log(ns + WP_ODDS_LEAST);
}

static double log_mean(const struct wp_odds_sample *sample)
{
    double sum = 0;
    for (uint32_t i = 0; i < sample->count; i++)
        sum += log_of(sample->values[i]);
    return sum / sample->count;
}

static double squares(const struct wp_odds_sample *sample)
{
    double mean = log_mean(sample), sum = 0;
    for (uint32_t i = 0; i < sample->count; i++)
        sum += (log_of(sample->values[i]) - mean) * (log_of(sample->values[i]) - mean);
    return sum;
}

/* Of one figure; at least one sample has two. */
static double pooled_spread(const struct wp_odds_sample *a, const struct wp_odds_sample *b)
{
    double freedom = (double)a->count + b->count - 2;
    double spread = freedom > 0 ? sqrt((squares(a) + squares(b)) / freedom) : 0;
    return fmax(spread, WP_ODDS_SPREAD);
}

double wp_odds_same(const struct wp_odds_sample *less, const struct wp_odds_sample *more)
{
    if (less->count < 2 || more->count < 2)
        return 1;
    double error = pooled_spread(less, more) * sqrt(1.0 / less->count + 1.0 / more->count);
    double t = (log_mean(more) - log_mean(less)) / error;
    double both = wp_student_tail(t, (double)less->count + more->count - 2);
    return t > 0 ? both / 2 : 1 - both / 2;
}

/* The logarithm of the density, but for what both samples have in common. */
static double log_density(const struct wp_odds_sample *sample, double spread, double freedom, double value)
{
    double scale = spread * sqrt(1 + 1.0 / sample->count), t = (log_of(value) - log_mean(sample)) / scale;
    return -(freedom + 1) / 2 * log1p(t * t / freedom) - log(scale);
}

double wp_odds_second(
    const struct wp_odds_sample *first, const struct wp_odds_sample *second, const struct wp_odds_sample *figures)
{
    double spread = pooled_spread(first, second), sum = 0;
    double freedom = fmax((double)first->count + second->count - 2, 1);
    for (uint32_t i = 0; i < figures->count; i++)
        sum += log_density(second, spread, freedom, figures->values[i]) -
            log_density(first, spread, freedom, figures->values[i]);
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
