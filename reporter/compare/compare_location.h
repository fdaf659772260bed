/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_COMPARE_COMPARE_LOCATION_H
#define WP_REPORTER_COMPARE_COMPARE_LOCATION_H
/* Where in the code of the application a hop takes longer: the functions that findings have as places
 * (code_location.h). */
#include "reporter/compare/compare_build.h"

/* Ends a place that is all that a function calls, too. */
#define WP_COMPARE_CALLS " and what it calls"

/* Fills `place` and `caller` of the hops that take longer, where one function has at least half of the difference;
 * `place` else with the innermost one that has it with all that it calls. -ENOMEM. */
int wp_compare_locations(struct wp_compare_build *build);

#endif
