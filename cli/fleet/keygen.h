/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_FLEET_KEYGEN_H
#define WP_CLI_FLEET_KEYGEN_H
/* `wakepath keygen`: a key pair in two files (proto/curve_keys.h; docs/security.md says who keeps which). */
#include "common/error.h"

#include <stdio.h>

/* Parses (usage errors end the program, argp), makes the files and says on `out` where they are. */
int wp_keygen_run(int argc, char **argv, FILE *out, struct wp_error *err);

#endif
