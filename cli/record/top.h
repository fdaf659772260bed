/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_RECORD_TOP_H
#define WP_CLI_RECORD_TOP_H
/* `wakepath top`: where the time of what runs goes right now, by the same parts as a recording and without a report. */
#include "common/error.h"

/* Returns the exit status; `err` holds the reason of a failure. */
int wp_top_run(int argc, char **argv, struct wp_error *err);

#endif
