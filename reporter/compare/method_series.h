/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_METHOD_SERIES_H
#define WP_REPORTER_COMPARE_METHOD_SERIES_H
/* Methods that follow a row over the course of a recording. */
#include "reporter/compare/method.h"

#include <stdbool.h>

/* One row by AVERAGE, MODEL, INTEGRAL or LOCAL; false: no memory. */
bool wp_method_series(enum wp_method method, struct wp_assessment *assessment, const struct wp_series operand[2],
    double threshold_percent);

#endif
