/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_BUILD_H
#define WP_REPORTER_COMPARE_COMPARE_BUILD_H
/* A comparison while it is being made; used by compare*.c alone. */
#include "common/intmap.h"
#include "reporter/compare/compare_rows.h"
#include "reporter/compare/stretches.h"

struct wp_compare_build {
    struct wp_compare *compare;
    const struct wp_facts *facts[2];
    struct wp_compare_tree tree;
    const double *activity[2]; /* by bucket, what the residuals are taken against */
    struct wp_stretches stretches[2];
    struct wp_intmap keys;     /* rows of the family at work */
};

/* Large enough on either side to be a row. */
bool wp_change_is_listed(const struct wp_compare *compare, uint64_t before, uint64_t after);
/* Rates and what each side alone knows of their errors, from row `row` of the sums. */
void wp_change_fill(const struct wp_compare_build *build, struct wp_change *change, const struct wp_row_sums *sums,
    uint32_t row);
/* The rates' errors from all that is known, their difference and its p. */
void wp_change_test(const struct wp_compare *compare, struct wp_change *change);
/* compare->moderation from the rows of hops, which are filled. -ENOMEM. */
int wp_compare_moderate(struct wp_compare *compare);
bool wp_change_is_tested(const struct wp_change *change);
/* Worse or better when it is sure, above the threshold and of `material` ns a unit or more. */
void wp_change_judge(const struct wp_compare *compare, struct wp_change *change, double material);
/* The assessment by a method that follows a row over time; nothing with another method. -ENOMEM. */
int wp_compare_assess_series(const struct wp_compare_build *build, struct wp_change *change, const struct wp_row_sums *sums, uint32_t row);
/* Of all functions against each other; rows of totals are added, for which there must be room. -ENOMEM. */
int wp_compare_assess_outliers(struct wp_compare *compare, double material);
/* The verdict, by whichever method. */
void wp_compare_conclude(const struct wp_compare *compare, struct wp_change *change, enum wp_change_family family, double material);
/* -ENOMEM. */
int wp_compare_flame(struct wp_compare_build *build, int side);

#endif
