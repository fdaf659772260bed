/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/compare/significance.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define LEAST_BUCKETS 4u
#define MOST_CORRELATION 0.9
#define MOST_FREEDOM 1e6

struct wp_measured_rate wp_rate_of(const double *part, const double *activity, size_t count, double divisor)
{
    double parts = 0, active = 0, squares = 0, neighbours = 0, last = 0;
    for (size_t i = 0; i < count; i++) {
        parts += part[i];
        active += activity[i];
    }
    double whole = divisor > 0 ? divisor : active, ratio = active > 0 ? parts / active : 0;
    if (whole <= 0)
        return (struct wp_measured_rate){0};
    struct wp_measured_rate rate = {.value = parts / whole};
    for (size_t i = 0; i < count; i++) {
        double rest = part[i] - ratio * activity[i];
        squares += rest * rest;
        neighbours += i ? rest * last : 0;
        last = rest;
    }
    if (count < LEAST_BUCKETS || active <= 0)
        return rate;
    double n = (double)count, r = squares > 0 ? neighbours / squares : 0;
    r = r < 0 ? 0 : r > MOST_CORRELATION ? MOST_CORRELATION : r;
    double inflation = (1 + r) / (1 - r);
    rate.error = sqrt(n / (n - 1) * squares * inflation) / whole;
    rate.freedom = fmax(1, n / inflation - 1);
    return rate;
}

struct wp_measured_rate wp_rate_with_known(struct wp_measured_rate rate, double known_error)
{
    double error = hypot(rate.error, known_error);
    if (rate.error > 0 && rate.freedom > 0)
        rate.freedom = fmin(rate.freedom * pow(error / rate.error, 4), MOST_FREEDOM);
    rate.error = error;
    return rate;
}

/* The continued fraction of the incomplete beta function by Lentz' method (DLMF 8.17.22). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;
    for (int m = 1; m <= 500; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        for (int step = 0; step < 2; step++) {
            double factor = step ? odd : even;
            d = 1 + factor * d;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            c = 1 + factor / c;
            c = fabs(c) < tiny ? tiny : c;
            value *= c * d;
        }
        if (fabs(c * d - 1) < 1e-14)
            break;
    }
    return value;
}

/* I_x(a, b), the regularized incomplete beta function. */
static double beta(double a, double b, double x)
{
    int sign;
    if (x <= 0 || x >= 1)
        return x >= 1;
    double front = exp(lgamma_r(a + b, &sign) - lgamma_r(a, &sign) - lgamma_r(b, &sign) + a * log(x) + b * log1p(-x));
    if (x < (a + 1) / (a + b + 2))
        return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double wp_student_tail(double t, double freedom)
{
    if (isinf(t))
        return 0;
    return freedom > 0 && !isnan(t) ? beta(freedom / 2, 0.5, freedom / (freedom + t * t)) : 1;
}

struct wp_welch wp_welch_test(const struct wp_measured_rate *before, const struct wp_measured_rate *after)
{
    struct wp_welch welch = {.p = 1};
    if (before->freedom <= 0 || after->freedom <= 0)
        return welch;
    double difference = after->value - before->value;
    double a = before->error * before->error, b = after->error * after->error;
    /* Below this nothing varies and what differs is rounding. */
    double floor = 1e-12 * (fabs(before->value) + fabs(after->value));
    if (fabs(difference) <= floor)
        return welch;
    double error = sqrt(a + b);
    if (error <= floor * 1e-3) {
        welch.t = copysign(INFINITY, difference);
        welch.freedom = before->freedom + after->freedom;
        welch.p = 0;
        return welch;
    }
    welch.t = difference / error;
    welch.freedom = (a + b) * (a + b) / (a * a / before->freedom + b * b / after->freedom);
    welch.p = wp_student_tail(welch.t, welch.freedom);
    return welch;
}

struct wp_welch wp_pooled_test(
    const struct wp_measured_rate *before, const struct wp_measured_rate *after, double freedom)
{
    struct wp_measured_rate one = *before, other = *after;
    one.freedom = other.freedom = freedom;
    struct wp_welch pooled = wp_welch_test(&one, &other);
    if (pooled.p < 1 && !isinf(pooled.t))
        pooled.p = wp_student_tail(pooled.t, freedom);
    pooled.freedom = freedom;
    return pooled;
}

static int compare_p(const void *left, const void *right, void *context)
{
    const double *p = context;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    if (p[a] != p[b])
        return p[a] < p[b] ? -1 : 1;
    return a < b ? -1 : a > b;
}

static size_t *by_p(const double *p, size_t count)
{
    size_t *order = calloc(count + 1, sizeof(*order));
    for (size_t i = 0; order && i < count; i++)
        order[i] = i;
    if (order)
        qsort_r(order, count, sizeof(*order), compare_p, (void *)(size_t)p);
    return order;
}

int wp_adjust_holm(const double *p, const double *weight, double *adjusted, size_t count)
{
    double *scaled = calloc(count + 1, sizeof(*scaled)), least = 0, left = 0;
    size_t *order = NULL;
    for (size_t i = 0; i < count && scaled; i++) {
        scaled[i] = p[i] / (weight ? weight[i] : 1);
        left += weight ? weight[i] : 1;
    }
    if (scaled)
        order = by_p(scaled, count);
    for (size_t i = 0; i < count && order; i++) {
        double value = scaled[order[i]] * left;
        least = value > least ? value : least;
        left -= weight ? weight[order[i]] : 1;
        adjusted[order[i]] = least > 1 ? 1 : least;
    }
    int rc = order ? 0 : -ENOMEM;
    free(order);
    free(scaled);
    return rc;
}

int wp_adjust_hochberg(const double *p, double *adjusted, size_t count)
{
    size_t *order = by_p(p, count);
    double most = 1;
    if (!order)
        return -ENOMEM;
    for (size_t i = count; i-- > 0;) {
        double value = p[order[i]] * (double)count / (double)(i + 1);
        most = value < most ? value : most;
        adjusted[order[i]] = most;
    }
    free(order);
    return 0;
}
