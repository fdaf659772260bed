/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_FLEET_STATUS_TABLE_H
#define WP_CLI_FLEET_STATUS_TABLE_H
/* How a daemon is, for a person. */
#include "cli/fleet/daemon_probe.h"

#include <stdio.h>

/* Prints the daemon's state as text; of one that did not answer as ours, its address and trouble. */
void wp_status_table(const struct wp_daemon_probe *daemon, FILE *out);

#endif
