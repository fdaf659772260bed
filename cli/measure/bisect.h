/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_MEASURE_BISECT_H
#define WP_CLI_MEASURE_BISECT_H
/* `wakepath bisect`: the first commit that makes something take longer, by recordings of as few as it takes. */
#include "common/error.h"

#include <stdio.h>

/* The result goes to `print`, progress to `say`. Returns the exit status; err holds the reason of a failure. */
int wp_bisect_run(int argc, char **argv, FILE *print, FILE *say, struct wp_error *err);

#endif
