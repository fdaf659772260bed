/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_CLI_FLEET_ENROLL_H
#define WP_CLI_FLEET_ENROLL_H
/* `wakepath enroll`: a host gets its key listed by a token, or the server that lists them. */
#include "common/error.h"

/* Parses its command line (and ends the program for --help and wrong use), then asks, or serves. */
int wp_enroll_run(int argc, char **argv, struct wp_error *err);

#endif
