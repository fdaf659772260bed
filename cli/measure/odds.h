/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_MEASURE_ODDS_H
#define WP_CLI_MEASURE_ODDS_H
/*
 * Which of two samples a third one is like. Figures are nanoseconds, compared by their logarithms with WP_ODDS_LEAST
 * added, so that nothing and next to nothing are alike. Other work on the machine makes some of them much larger: a
 * sample counts without one in WP_ODDS_TRIM at either end. Two samples are compared by Yuen's test of trimmed means
 * (Biometrika 61, 1974), a spread being WP_ODDS_SPREAD at least. A new figure is judged by the predictive distribution
 * of each, with one spread for both (Student's t; Gelman et al., Bayesian Data Analysis, 3rd ed., 2013, section 3.2),
 * of WP_ODDS_FREEDOM degrees of freedom at most: one figure far from both decides nothing.
 */
#include <stdint.h>

#define WP_ODDS_LEAST 10e3   /* ns */
#define WP_ODDS_SPREAD 0.005 /* of a figure: no machine repeats itself better */
#define WP_ODDS_TRIM 4u
#define WP_ODDS_FREEDOM 4.0

/* Figures, borrowed. */
struct wp_odds_sample {
    const double *values; /* >= 0 */
    uint32_t count;
};

/* The probability that two samples with the same mean differ by so much in this direction: `more` is above `less`.
 * 1 with fewer than two figures in one of them. */
double wp_odds_same(const struct wp_odds_sample *less, const struct wp_odds_sample *more);
/* log(P(figures | second) / P(figures | first)): above 0 they are like the second. */
double wp_odds_second(
    const struct wp_odds_sample *first, const struct wp_odds_sample *second, const struct wp_odds_sample *figures);
/* The middle figure; 0 of none. */
double wp_odds_median(const struct wp_odds_sample *sample);

#endif
