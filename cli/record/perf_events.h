/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_RECORD_PERF_EVENTS_H
#define WP_CLI_RECORD_PERF_EVENTS_H
/* `wakepath perf-events`: how to record with perf on this machine what the source of perf's text understands. */
#include "common/error.h"

#include <stdio.h>

/* Prints a script of the shell; nothing is changed or recorded. 0, or -errno: tracefs cannot be read. */
int wp_perf_events_run(int argc, char **argv, FILE *out, struct wp_error *err);

#endif
