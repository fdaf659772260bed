/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_METHOD_OUTLIERS_H
#define WP_REPORTER_COMPARE_METHOD_OUTLIERS_H
/* The method that holds all functions against each other. */
#include "reporter/compare/method.h"

#include <stdbool.h>

/* All functions at once; changes of less than cutoff percent of `whole`, and of less than `least` ns a unit, are none.
 * false: no memory. */
bool wp_method_outliers(struct wp_outlier_row *rows, size_t count, double cutoff_percent, double least);

#endif
