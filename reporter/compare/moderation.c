/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/moderation.h"

#include <math.h>

#define LEAST_ROWS 3u
#define MOST_FREEDOM 60.0 /* rows hang together: they never tell as much as their number */
#define LEAST_RATIO 1e-6  /* a row that did not vary at all has no logarithm */
#define RECURSE_TO 12.0   /* from which the series below are exact to 1e-12 */

/* psi(x), by recurrence and its asymptotic series (DLMF 5.5.2, 5.11.2). */
static double digamma(double x)
{
    double sum = 0;
    for (; x < RECURSE_TO; x += 1)
        sum -= 1 / x;
    double y = 1 / (x * x);
    return sum + log(x) - 0.5 / x - y * (1.0 / 12 - y * (1.0 / 120 - y * (1.0 / 252 - y * (1.0 / 240 - y / 132))));
}

/* psi'(x) (DLMF 5.15.5, 5.15.8). */
static double trigamma(double x)
{
    double sum = 0;
    for (; x < RECURSE_TO; x += 1)
        sum += 1 / (x * x);
    double y = 1 / (x * x);
    return sum + 1 / x + y / 2 + y / x * (1.0 / 6 - y * (1.0 / 30 - y * (1.0 / 42 - y * (1.0 / 30 - y * 5 / 66))));
}

/* The x of psi'(x) = y; psi' falls steadily. Halving is quick enough for one call a comparison. */
static double trigamma_inverse(double y)
{
    double low = 1e-3, high = 1e6;
    for (int i = 0; i < 200 && high - low > 1e-9 * high; i++) {
        double middle = sqrt(low * high);
        if (trigamma(middle) > y)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* log F is symmetric enough for its first two moments to tell the parameters (Smyth, 6.2). */
struct wp_moderation wp_moderation_of(const struct wp_variance_ratio *ratios, size_t count)
{
    struct wp_moderation moderation = {.ratio = 1};
    double sum = 0, squares = 0, noise = 0;
    if (count < LEAST_ROWS)
        return moderation;
    for (size_t i = 0; i < count; i++) {
        double half = ratios[i].freedom / 2, ratio = fmax(ratios[i].ratio, LEAST_RATIO);
        double e = log(ratio) - digamma(half) + log(half);
        sum += e;
        squares += e * e;
        noise += trigamma(half);
    }
    double n = (double)count, mean = sum / n, variance = (squares - n * mean * mean) / (n - 1) - noise / n;
    if (variance <= 0) { /* no more than chance makes of equal ones */
        moderation.freedom = MOST_FREEDOM;
        moderation.ratio = exp(mean);
        return moderation;
    }
    double half = trigamma_inverse(variance);
    moderation.freedom = fmin(2 * half, MOST_FREEDOM);
    moderation.ratio = exp(mean + digamma(half) - log(half));
    return moderation;
}

struct wp_variance_ratio wp_moderate(const struct wp_moderation *all, const struct wp_variance_ratio *row)
{
    double freedom = all->freedom + row->freedom;
    struct wp_variance_ratio moderated = {1, freedom};
    if (freedom > 0)
        moderated.ratio = (all->freedom * all->ratio + row->freedom * row->ratio) / freedom;
    return moderated;
}
