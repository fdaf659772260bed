/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_CMD_QUERY_H
#define WP_REPORTER_CMD_QUERY_H
/* `wakepath-reporter query`: sums over the stacks of one or several releases, as a table, JSON or CSV. */
#include "common/buffer.h"
#include "common/log.h"
#include "reporter/cmd/query_options.h"

/* All of it: parses, answers, writes. -EBADMSG: also when the answer is written, and some release could not be read. */
int wp_query_run(const struct wp_logger *logger, int argc, char **argv, struct wp_error *err);

#endif
