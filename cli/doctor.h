/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_DOCTOR_H
#define WP_CLI_DOCTOR_H
/* `wakepath doctor`: looks whether this host can record and its daemons can work, changes nothing, and says how to
 * mend. */
#include "cli/doctor_findings.h"
#include "common/error.h"

#include <stdbool.h>

/* Parses (usage errors end the program, argp) and prints. 0: nothing is wrong; 1: something is; -errno. */
int wp_doctor_run(int argc, char **argv, FILE *out, struct wp_error *err);

/* The kernel, privileges, what is mounted, the clock. `has_service`: a collector that has its own privileges is set up.
 */
void wp_doctor_host(struct wp_findings *findings, bool has_service);
/* What the collector finds when it tries each of its programs on this kernel; nothing without the privilege to. */
void wp_doctor_probe(struct wp_findings *findings);
struct wp_installed;
/* Settings, whom they reach, ports, keys, disks. */
/* Whether an aggregator takes the keys of a collector that none listens to now. */
void wp_doctor_knock(struct wp_findings *findings, const struct wp_installed *collector);
void wp_doctor_collector(struct wp_findings *findings, const struct wp_installed *collector);
void wp_doctor_aggregator(struct wp_findings *findings, const struct wp_installed *aggregator);

#endif
