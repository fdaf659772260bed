/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_MEASURE_MEASURE_H
#define WP_CLI_MEASURE_MEASURE_H
/* `wakepath measure`: a matrix of commits, commands, workloads and repeats, recorded in turns. */
#include "common/error.h"

#include <stdio.h>

/* The result goes to `print`, progress to `say`. Returns the exit status; err holds the reason of a failure. */
int wp_measure_run(int argc, char **argv, FILE *print, FILE *say, struct wp_error *err);

#endif
