/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_MEDIAN_H
#define WP_REPORTER_COMPARE_MEDIAN_H
/* The median of values of which some count more than others. */
#include <stdint.h>

struct wp_weighted {
    double value, weight;
};

/* Where half of the weight is reached; sorts them. 0 of none. For any thread. */
double wp_weighted_median(struct wp_weighted *values, uint32_t count);

#endif
