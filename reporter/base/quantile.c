/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/base/quantile.h"

#include <math.h>
#include <stdlib.h>

static int compare_doubles(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

void wp_sort_doubles(double *values, size_t count)
{
    if (count)
        qsort(values, count, sizeof(*values), compare_doubles);
}

double wp_quantile(const double *sorted, size_t count, double share)
{
    double place = share * (double)(count - 1), low = floor(place);
    size_t at = (size_t)low;
    return at + 1 < count ? sorted[at] + (place - low) * (sorted[at + 1] - sorted[at]) : sorted[at];
}
