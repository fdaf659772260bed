/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_BUILD_H
#define WP_REPORTER_COMPARE_COMPARE_BUILD_H
/* A comparison while it is being made; used by compare*.c alone. */
#include "common/intmap.h"
#include "reporter/compare/compare_rows.h"
#include "reporter/compare/intervals.h"

struct wp_compare_build {
    struct wp_compare *compare;
    const struct wp_facts *facts[2];
    struct wp_compare_tree tree;
    const double *activity[2]; /* by bucket, what the residuals are taken against */
    double *work[2];           /* the activity as work, where that is the unit; owned */
    double work_spread[2];     /* standard error of the logarithm of the work in a second; 0 not known */
    struct wp_operand_intervals intervals[2];
    struct wp_intmap keys; /* rows of the family at work */
};

#endif
