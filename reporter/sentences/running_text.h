/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_SENTENCES_RUNNING_TEXT_H
#define WP_REPORTER_SENTENCES_RUNNING_TEXT_H
/* In which functions a process runs. Texts are in the facts' pool. */
#include "reporter/causes/process_groups.h"

/* "spin, called from `settle_trade` (ring.c:8)": the function in which this process ran longest, and the program's own
 * that it works for; NULL when none was sampled. */
const char *wp_running_busiest(const struct wp_process_groups *groups, const struct wp_process_group *group);
/* The same of these cells (by cell of the flame). */
const char *wp_running_function(const struct wp_causes *causes, struct wp_facts *facts, const bool *is_its);
/* "; 98 % of what was sampled of it is in `scan_index`": of pieces too short to have a sample each, as those of the
 * process that have one tell; "" where these are few, or in many functions of the program. */
const char *wp_running_sampled(const struct wp_process_groups *groups, const struct wp_process_group *group);

#endif
