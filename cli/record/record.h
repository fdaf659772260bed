/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_RECORD_RECORD_H
#define WP_CLI_RECORD_RECORD_H
/*
 * `wakepath record`: runs the same collector, aggregator and reporter that a fleet runs, in one process tree over a
 * private socket, around a command or for a while, and cleans up after them.
 */
#include "cli/record/record_options.h"
#include "common/error.h"

#include <stdio.h>

/* Records, and tells the user about it on `say` (the summary as JSON on `print`, whose file is ended behind it).
 * Returns the exit status to end with; when that is a failure of the recording `err` holds the reason, else its text is
 * empty. */
int wp_record_run(const struct wp_record_options *options, FILE *say, FILE *print, struct wp_error *err);

#endif
