/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_EVIDENCE_SAME_NAME_H
#define WP_REPORTER_EVIDENCE_SAME_NAME_H
/* Processes that are called as the one of interest: by the flame alone they are threads of it. */
#include "reporter/facts/facts.h"

/* Whether those of that name ("[python3]") which the control paths of the window do not begin with run longer than
 * those which they do. */
bool wp_same_name_runs_most(const struct wp_facts *facts, const struct wp_trace *trace, const char *name);

#endif
