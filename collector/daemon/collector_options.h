/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_DAEMON_COLLECTOR_OPTIONS_H
#define WP_COLLECTOR_DAEMON_COLLECTOR_OPTIONS_H
/* The command line of wakepath-collector. */
#include "collector/daemon/collector.h"

#define WP_OVERHEAD_DEFAULT 1.0 /* percent of one CPU */

struct wp_config;

/* What may change while it runs; borrowed from the caller for the options' life. */
struct wp_collector_live {
    enum wp_log_level *log_level;
    struct wp_window *window;
};

/* Command line, environment and file. Exits with a message on wrong use, and after --help and --version. Strings point into
 * argv and *config, the caller's to destroy. */
void wp_collector_options_parse(struct wp_collector_options *options, const struct wp_collector_live *live,
    struct wp_config **config, int argc, char **argv);
/* As wp_config_reload: true when `options` and `live` hold what is set now. */
bool wp_collector_options_reload(struct wp_collector_options *options, const struct wp_collector_live *live,
    struct wp_config *config, const struct wp_logger *logger);

#endif
