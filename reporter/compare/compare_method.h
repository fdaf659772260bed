/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_METHOD_H
#define WP_REPORTER_COMPARE_COMPARE_METHOD_H
/* What the methods find of the rows of a comparison, and the verdict. */
#include "reporter/compare/compare_build.h"
#include "reporter/compare/compare_rows.h"
#include "reporter/compare/compare_types.h"

#include <stdbool.h>
#include <stdint.h>

/* The assessment by a method that follows a row over time; nothing with another method. -ENOMEM. */
int wp_compare_assess_series(
    const struct wp_compare_build *build, struct wp_change *change, const struct wp_row_sums *sums, uint32_t row);
/* Of all functions against each other; rows of totals are added, for which there must be room. -ENOMEM. */
int wp_compare_assess_outliers(struct wp_compare *compare, double material);
/* The verdict, by whichever method. */
void wp_compare_conclude(
    const struct wp_compare *compare, struct wp_change *change, enum wp_change_family family, double material);

/* Whether rows of the family make a verdict of the whole. */
bool wp_compare_is_judged(const struct wp_compare *compare, enum wp_change_family family);

#endif
