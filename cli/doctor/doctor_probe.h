/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_DOCTOR_DOCTOR_PROBE_H
#define WP_CLI_DOCTOR_DOCTOR_PROBE_H
/* What the collector finds when it tries each of its programs on this kernel. */
#include "cli/doctor/doctor_findings.h"

/* Nothing without the privilege to. */
void wp_doctor_probe(struct wp_findings *findings);

#endif
