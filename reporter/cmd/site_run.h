/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_SITE_RUN_H
#define WP_REPORTER_CMD_SITE_RUN_H
/* The site as a run of the program makes it: progress on a terminal, what came of it in the log and, whatever came of
 * it, in --metrics-file. */
#include "common/log.h"
#include "reporter/cmd/reporter_options.h"

/* -EBADMSG: the site is written, but nothing of some release could be read. */
int wp_site_run(struct wp_reporter_options *options, const struct wp_logger *logger, struct wp_error *err);

#endif
