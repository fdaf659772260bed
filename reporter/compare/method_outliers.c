/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions whose exclusive time changed unlike that of all others (Perun's perun/check/exclusive_time_outliers.py). Of
 * the differences of all functions three rules tell outliers, the strictest first: the modified z-score above 3.5
 * (Iglewicz and Hoaglin, How to Detect and Handle Outliers, 1993), Tukey's fences of 1.5 interquartile ranges
 * (Exploratory Data Analysis, 1977), and two standard deviations of what these two left.
 */
#include "reporter/compare/method_outliers.h"

#include "reporter/base/quantile.h"
#include "reporter/compare/method.h"

#include <math.h>
#include <stdlib.h>

#define Z_CORRECTION 0.6745 /* of the median absolute deviation to a normal one's standard deviation */
#define Z_CUTOFF 3.5
#define IQR_CUTOFF 1.5
#define DEVIATION_CUTOFF 2.0
#define LEAST_ROWS 4u

struct spread {
    double median, mad, low, high, iqr, deviation;
};

static bool is_z_outlier(const struct spread *spread, double delta)
{
    double off = fabs(delta - spread->median);
    return spread->mad > 0 ? Z_CORRECTION * off / spread->mad > Z_CUTOFF : off > 0;
}

static bool is_fenced_out(const struct spread *spread, double delta)
{
    return delta < spread->low - IQR_CUTOFF * spread->iqr || delta > spread->high + IQR_CUTOFF * spread->iqr;
}

static void measure(struct spread *spread, double *deltas, double *room, size_t count)
{
    for (size_t i = 0; i < count; i++)
        room[i] = deltas[i];
    wp_sort_doubles(room, count);
    spread->median = wp_quantile(room, count, 0.5);
    spread->low = wp_quantile(room, count, 0.25);
    spread->high = wp_quantile(room, count, 0.75);
    spread->iqr = spread->high - spread->low;
    for (size_t i = 0; i < count; i++)
        room[i] = fabs(deltas[i] - spread->median);
    wp_sort_doubles(room, count);
    spread->mad = wp_quantile(room, count, 0.5);
    double sum = 0, squares = 0, rest = 0;
    for (size_t i = 0; i < count; i++)
        if (!is_z_outlier(spread, deltas[i]) && !is_fenced_out(spread, deltas[i])) {
            sum += deltas[i];
            squares += deltas[i] * deltas[i];
            rest += 1;
        }
    spread->deviation = rest > 1 ? sqrt(fmax(0, (squares - sum * sum / rest) / (rest - 1))) : 0;
}

/* How many interquartile ranges beyond the nearer quartile. */
static double iqr_multiple(const struct spread *spread, double delta)
{
    double off = delta > spread->high ? delta - spread->high : delta < spread->low ? spread->low - delta : 0;
    return spread->iqr > 0 ? off / spread->iqr : off > 0 ? INFINITY : 0;
}

static void judge(struct wp_outlier_row *row, const struct spread *spread, double cutoff_percent, double least)
{
    double delta = row->after - row->before;
    struct wp_assessment *assessment = &row->assessment;
    *assessment = (struct wp_assessment){.direction = delta > 0 ? 1
            : delta < 0                                         ? -1
                                                                : 0,
        .confidence = iqr_multiple(spread, delta),
        .confidence_kind = "IQR_multiple",
        .rate = row->whole > 0 ? delta / row->whole
            : delta > 0        ? INFINITY
                               : 0};
    if (fabs(delta) < least || (row->whole > 0 && 100 * fabs(assessment->rate) < cutoff_percent))
        return;
    if (row->before <= 0 || row->after <= 0) {
        assessment->severity = row->before <= 0 ? WP_SEVERITY_NEW : WP_SEVERITY_GONE;
    } else if (is_z_outlier(spread, delta)) {
        assessment->severity = WP_SEVERITY_SEVERE;
    } else if (is_fenced_out(spread, delta)) {
        assessment->severity = WP_SEVERITY_CHANGE;
    } else {
        assessment->confidence = spread->deviation > 0 ? fabs(delta) / spread->deviation : 0;
        assessment->confidence_kind = "StdDev_multiple";
        assessment->severity = assessment->confidence > DEVIATION_CUTOFF ? WP_SEVERITY_MAYBE : WP_SEVERITY_NONE;
    }
}

bool wp_method_outliers(struct wp_outlier_row *rows, size_t count, double cutoff_percent, double least)
{
    struct spread spread = {0};
    double *deltas = calloc(2 * count + 1, sizeof(*deltas));
    if (!deltas)
        return false;
    for (size_t i = 0; i < count; i++)
        deltas[i] = rows[i].after - rows[i].before;
    if (count >= LEAST_ROWS)
        measure(&spread, deltas, deltas + count, count);
    for (size_t i = 0; i < count; i++)
        if (count >= LEAST_ROWS)
            judge(&rows[i], &spread, cutoff_percent, least);
        else
            rows[i].assessment = (struct wp_assessment){.severity = WP_SEVERITY_UNKNOWN, .confidence = NAN};
    free(deltas);
    return true;
}
