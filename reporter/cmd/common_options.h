/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_COMMON_OPTIONS_H
#define WP_REPORTER_CMD_COMMON_OPTIONS_H
/* Options that reporting and checking have in common. */
#include "reporter/compare/compare_types.h"
#include "reporter/facts/contour.h"
#include "reporter/read/release_order.h"

#include <argp.h>
#include <stdbool.h>

/* What reporting and checking have in common: which stores, how releases stand, how two are compared. */
struct wp_common_options {
    const char *stores[WP_STORES_LIMIT]; /* borrowed from argv */
    size_t store_count;
    struct wp_order_options order;
    struct wp_compare_options compare;
    struct wp_contour contour; /* left out of all stacks that are printed or compared */
    bool threshold_given;
    bool is_default_store; /* none was given, and there is a recording here */
};

/* The options of it, for a program's argp; its input is a struct wp_common_options *. */
extern const struct argp wp_common_argp;

#endif
