/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CAUSES_CAUSE_CALLERS_H
#define WP_REPORTER_CAUSES_CAUSE_CALLERS_H
/* Causes in functions that several call. */
#include "reporter/causes/cause_types.h"

/* Of a cause's time, at least, that comes from who is told as the one that calls there: three quarters. */
static inline bool wp_cause_caller_has_most(uint64_t ns, uint64_t all_ns)
{
    return ns >= all_ns / 4 * 3;
}

/* Marks in causes->cell_rest the cells of each cause which one caller has most of, and that are not its. */
void wp_cause_callers_mark(const struct wp_causes *causes, struct wp_facts *facts);

#endif
