/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_VIEW_VIEW_H
#define WP_CLI_VIEW_VIEW_H
/* `wakepath view`: the pages of a recording on this host, and of any of its processes and threads when it is asked for.
 */
#include "common/error.h"

#include <stdio.h>

/* Serves until a signal ends it; the address goes to `out`. 0 or -errno. */
int wp_view_run(int argc, char **argv, FILE *out, struct wp_error *err);

#endif
