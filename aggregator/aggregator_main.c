/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/options.h"

#include "common/version.h"

#include <signal.h>
#include <string.h>

static volatile sig_atomic_t stop_asked, reload_asked; /* the only things that a signal handler may touch */

static void ask_stop(int signal)
{
    (void)signal;
    stop_asked = 1;
}

static void ask_reload(int signal)
{
    (void)signal;
    reload_asked = 1;
}

int main(int argc, char **argv)
{
    struct wp_aggregator_options options;
    wp_aggregator_options_parse(&options, argc, argv);
    struct sigaction action = {.sa_handler = ask_stop}, hangup = {.sa_handler = ask_reload};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGHUP, &hangup, NULL);
    signal(SIGPIPE, SIG_IGN);
    struct wp_logger logger = {"wakepath-aggregator", options.log_level, 2};
    struct wp_error err = {0};
    options.ingest.stop = &stop_asked;
    options.ingest.reload = &reload_asked;
    int rc = wp_ingest_run(&options.engine, &options.ingest, &logger, &err);
    if (rc)
        wp_log(&logger, WP_LOG_ERROR, "%s", err.text);
    wp_aggregator_options_fini(&options);
    return rc ? WP_EXIT_FAILURE : WP_EXIT_OK;
}
