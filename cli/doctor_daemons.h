/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_DOCTOR_DAEMONS_H
#define WP_CLI_DOCTOR_DAEMONS_H
/* Of the daemons that are installed: settings, whom they reach, ports, keys, disks. */
#include "cli/doctor_findings.h"

struct wp_installed;

void wp_doctor_collector(struct wp_findings *findings, const struct wp_installed *collector);
void wp_doctor_aggregator(struct wp_findings *findings, const struct wp_installed *aggregator);

#endif
