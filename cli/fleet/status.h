/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_FLEET_STATUS_H
#define WP_CLI_FLEET_STATUS_H
/* `wakepath status`: asks daemons how they are (their /healthz and /metrics) and says it to a person, or as JSON. */
#include "common/error.h"

#include <stdio.h>

/* Parses (usage errors end the program, argp) and prints. 0: all that were asked answer and are well; -errno, with
 * which one is not. */
int wp_status_run(int argc, char **argv, FILE *out, struct wp_error *err);

#endif
