/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_FINDINGS_CAUSE_RANK_H
#define WP_REPORTER_FINDINGS_CAUSE_RANK_H
/* What mending a cause would save: by that findings are ordered. */
#include "reporter/findings/cause_case.h"

/* Its time, and what belongs to it and is told elsewhere: what holders of its lock sleep themselves, what the same call
 * of the same place runs, and runs between its sleeps that are too short for samples. */
uint64_t wp_cause_rank(const struct wp_cause_case *of);

#endif
