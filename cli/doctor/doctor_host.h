/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_DOCTOR_DOCTOR_HOST_H
#define WP_CLI_DOCTOR_DOCTOR_HOST_H
/* The kernel, privileges, what is mounted, the clock. */
#include "cli/doctor/doctor_findings.h"

#include <stdbool.h>

/* `has_service`: a collector that has its own privileges is set up. */
void wp_doctor_host(struct wp_findings *findings, bool has_service);

#endif
