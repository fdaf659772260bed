/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/collector_options.h"
#include "common/version.h"

static volatile sig_atomic_t stop_asked; /* the one thing that a signal handler may touch */

static void ask_stop(int signal)
{
    (void)signal;
    stop_asked = 1;
}

int main(int argc, char **argv)
{
    struct wp_collector_options options;
    struct wp_logger logger = {"wakepath-collector", WP_LOG_INFO, 2};
    struct wp_error err = {0};
    wp_collector_options_parse(&options, &logger.level, argc, argv);
    struct sigaction action = {.sa_handler = ask_stop};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    options.stop = &stop_asked;
    int rc = wp_collector_run(&options, &logger, &err);
    if (rc)
        wp_log(&logger, WP_LOG_ERROR, "%s", err.text);
    return rc ? WP_EXIT_FAILURE : WP_EXIT_OK;
}
