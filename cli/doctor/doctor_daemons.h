/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_DOCTOR_DOCTOR_DAEMONS_H
#define WP_CLI_DOCTOR_DOCTOR_DAEMONS_H
/* Of the daemons that are installed: settings, whom they reach, ports, keys, disks. */
#include "cli/doctor/doctor_findings.h"

struct wp_installed;

/* Adds findings of a collector that is set up. Asks the running daemon, else its aggregators, and waits for their
 * answers. */
void wp_doctor_collector(struct wp_findings *findings, const struct wp_installed *collector);
/* The same of an aggregator: whether it runs, its port, keys and store. */
void wp_doctor_aggregator(struct wp_findings *findings, const struct wp_installed *aggregator);

#endif
