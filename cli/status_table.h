/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_STATUS_TABLE_H
#define WP_CLI_STATUS_TABLE_H
/* How a daemon is, for a person. */
#include "cli/daemon_probe.h"

#include <stdio.h>

void wp_status_table(const struct wp_daemon_probe *daemon, FILE *out);

#endif
