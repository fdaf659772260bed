/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_COLLECTOR_OPTIONS_H
#define WP_COLLECTOR_COLLECTOR_OPTIONS_H
/* The command line of wakepath-collector. */
#include "collector/collector.h"

struct wp_config;

/* Command line, environment and file. Exits with a message on wrong use, and after --help and --version. Strings point into
 * argv and *config, the caller's to destroy. */
void wp_collector_options_parse(struct wp_collector_options *options, enum wp_log_level *log_level,
    struct wp_config **config, int argc, char **argv);

#endif
