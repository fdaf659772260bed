/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_DOCTOR_DOCTOR_H
#define WP_CLI_DOCTOR_DOCTOR_H
/* `wakepath doctor`: looks whether this host can record and its daemons can work, changes nothing, and says how to
 * mend. */
#include "cli/doctor/doctor_findings.h"
#include "common/error.h"

#include <stdbool.h>

/* Parses (usage errors end the program, argp) and prints. 0: nothing is wrong; 1: something is; -errno. */
int wp_doctor_run(int argc, char **argv, FILE *out, struct wp_error *err);

#endif
