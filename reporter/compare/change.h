/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_CHANGE_H
#define WP_REPORTER_COMPARE_CHANGE_H
/* One row of a comparison: its rates, what they vary by, and whether they differ by more than that. */
#include "reporter/compare/compare_build.h"
#include "reporter/compare/compare_rows.h"
#include "reporter/compare/compare_types.h"

#include <stdbool.h>
#include <stdint.h>

/* Large enough on either side to be a row. */
bool wp_change_is_listed(const struct wp_compare *compare, uint64_t before, uint64_t after);
/* Rates and what each side alone knows of their errors, from row `row` of the sums. */
void wp_change_fill(
    const struct wp_compare_build *build, struct wp_change *change, const struct wp_row_sums *sums, uint32_t row);
/* The rates' errors from all that is known, their difference and its p. */
void wp_change_test(const struct wp_compare *compare, struct wp_change *change);
/* compare->moderation from the rows of hops, which are filled. -ENOMEM. */
int wp_compare_moderate(struct wp_compare *compare);
/* Each side has several recordings, and one of them is the unit. */
bool wp_compare_is_by_recording(const struct wp_compare *compare);
/* False when the row has too few data for a test, or is ignored and not judged. */
bool wp_change_is_tested(const struct wp_change *change);
/* Worse or better when it is sure, above the threshold and of `material` ns a unit or more. */
void wp_change_judge(const struct wp_compare *compare, struct wp_change *change, double material);
/* Half of the difference or more is threads that wait for work or for a client. */
bool wp_change_is_idle(const struct wp_change *change);
/* Of a part with a verdict: the whole goes the other way, or it is mostly idleness; then it has no verdict. */
bool wp_change_is_moved(const struct wp_compare *compare, const struct wp_change *change);

#endif
