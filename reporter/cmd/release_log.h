/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_RELEASE_LOG_H
#define WP_REPORTER_CMD_RELEASE_LOG_H
/* `wakepath-reporter log`: the releases with their commits, and what was kept of their checks. */
#include "common/buffer.h"
#include "common/error.h"

/* Ends the program where the command line asks for that (argp); argv[0] is "log". Appends the list. -ENOENT: there is
 * no such store, or no such release. */
int wp_release_log_run(int argc, char **argv, struct wp_buffer *out, struct wp_error *err);

#endif
