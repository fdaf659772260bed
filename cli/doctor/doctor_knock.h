/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_DOCTOR_DOCTOR_KNOCK_H
#define WP_CLI_DOCTOR_DOCTOR_KNOCK_H
/* Whether an aggregator takes the keys of a collector that none listens to now. */
#include "cli/doctor/doctor_findings.h"

struct wp_installed;

/* Connects to each tcp:// aggregator of the settings with the collector's key and adds what comes of it; adds nothing
 * when no key is set. */
void wp_doctor_knock(struct wp_findings *findings, const struct wp_installed *collector);

#endif
