/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_BASE_QUANTILE_H
#define WP_REPORTER_BASE_QUANTILE_H
/* Order statistics of numbers. */
#include <stddef.h>

/* Ascending, in place, as wp_quantile wants them. No value may be NAN. */
void wp_sort_doubles(double *values, size_t count);
/* Between the two nearest ranks (Hyndman and Fan, American Statistician 50, 1996, definition 7); `count` > 0, share 0
 * to 1. */
double wp_quantile(const double *sorted, size_t count, double share);

#endif
