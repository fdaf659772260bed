/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_STATUS_TABLE_H
#define WP_CLI_STATUS_TABLE_H
/* How a daemon is, for a person. */
#include "cli/watched.h"

#include <stdio.h>

void wp_status_table(const struct wp_watched *watched, FILE *out);

#endif
