/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_FLAME_H
#define WP_REPORTER_COMPARE_COMPARE_FLAME_H
/* The flames of a comparison: by node what it takes on the other side. */
#include "reporter/compare/compare_build.h"

/* -ENOMEM. */
int wp_compare_flame(struct wp_compare_build *build, int operand);

#endif
