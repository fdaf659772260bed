/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/options.h"
#include "common/config.h"
#include "common/service.h"
#include "common/version.h"

#include <signal.h>

static volatile sig_atomic_t stop_asked, reload_asked; /* the two things that a signal handler may touch */

static void take_signal(int signal)
{
    if (signal == SIGHUP)
        reload_asked = 1;
    else
        stop_asked = 1;
}

struct daemon {
    struct wp_logger logger;
    struct wp_config *config;
    struct wp_window window;
    volatile sig_atomic_t reread_asked; /* the list of keys */
};

static int apply_log_level(void *context, const char *const *values, size_t count, struct wp_error *err)
{
    struct daemon *daemon = context;
    return wp_config_apply_log_level(&daemon->logger, values, count, err);
}

static int apply_window(void *context, const char *const *values, size_t count, struct wp_error *err)
{
    struct daemon *daemon = context;
    if (count)
        return wp_window_parse(&daemon->window, values[count - 1], err);
    daemon->window = (struct wp_window){0};
    return 0;
}

static void reload(void *context)
{
    static const struct wp_config_live live[] = {{"log-level", apply_log_level}, {"window", apply_window}, {0}};
    struct daemon *daemon = context;
    wp_config_reload(daemon->config, live, daemon, &daemon->logger);
    daemon->reread_asked = 1;
}

int main(int argc, char **argv)
{
    struct wp_aggregator_options options;
    struct sigaction action = {.sa_handler = take_signal};
    sigaction(SIGHUP, &action, NULL); /* first: a reload asked early must not end us */
    wp_aggregator_options_parse(&options, argc, argv);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    struct daemon daemon = {{"wakepath-aggregator", options.log_level, 2}, options.config, options.window, 0};
    struct wp_service service = {.reload = &reload_asked, .on_reload = reload, .context = &daemon};
    struct wp_error err = {0};
    wp_service_init(&service);
    options.ingest.stop = &stop_asked;
    options.ingest.service = &service;
    options.ingest.reload = &daemon.reread_asked;
    options.ingest.window = &daemon.window;
    int rc = wp_ingest_run(&options.engine, &options.ingest, &daemon.logger, &err);
    if (rc)
        wp_log(&daemon.logger, WP_LOG_ERROR, "%s", err.text);
    wp_service_fini(&service);
    wp_aggregator_options_fini(&options);
    return rc ? WP_EXIT_FAILURE : WP_EXIT_OK;
}
