/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_REPORTER_REPORTER_OPTIONS_H
#define WP_REPORTER_REPORTER_OPTIONS_H
/* The command line of wakepath-reporter. */
#include "reporter/print.h"

#include <stdbool.h>

struct wp_config;

struct wp_reporter_options {
    const char *store, *out, *release, *aggregate;  /* borrowed from argv; NULL not given */
    enum wp_format format;
    bool format_given, quiet, no_wait;
    struct wp_selection selection;
    struct wp_config *config;                       /* owned by main; strings point into it */
};

/* Prints help or a usage error and ends the program where the command line asks for that (argp). */
void wp_reporter_options_parse(struct wp_reporter_options *options, int argc, char **argv);
/* Seconds since the epoch, or "2026-11-20", "2026-11-20T22:14", "2026-11-20T22:14:05" in UTC. -EINVAL. */
int wp_reporter_time_parse(const char *text, uint64_t *seconds);

#endif
