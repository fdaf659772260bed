/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_RECORDING_SUPERVISOR_FINDING_H
#define WP_REPORTER_RECORDING_SUPERVISOR_FINDING_H
/* Of a recorded command whose main process only watches over others that it started, as a server's that forks its
 * workers: the first finding, as its progress says nothing of them. Only that somebody was killed comes before
 * (killed_finding.h). */
#include "reporter/facts/facts.h"

/* By facts->tree (process_tree.h) and the flame; puts both before the other findings. Out of memory shows in
 * facts->pool.failed. */
void wp_process_findings_add(struct wp_facts *facts);

#endif
