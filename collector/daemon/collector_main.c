/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/daemon/collector.h"
#include "collector/daemon/collector_options.h"
#include "common/config.h"
#include "common/service.h"
#include "common/standard_output.h"
#include "common/version.h"

#include <malloc.h>
#include <string.h>

#define LARGE_BYTES (256 << 10)

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
    struct wp_window window;
    struct wp_collector_options options;
    struct wp_config *config;
};

static void reload(void *context)
{
    struct daemon *daemon = context, next = {0};
    struct wp_collector_live live = {&next.logger.level, &next.window};
    if (!wp_collector_options_reload(&next.options, &live, daemon->config, &daemon->logger))
        return;
    wp_log_set_level(&daemon->logger, next.logger.level);
    daemon->window = next.window;
    daemon->options.overhead_percent = next.options.overhead_percent;
    memcpy(daemon->options.patterns, next.options.patterns, sizeof(next.options.patterns));
    daemon->options.pattern_count = next.options.pattern_count;
    daemon->options.reloads++;
}

int main(int argc, char **argv)
{
    struct daemon daemon = {.logger = {"wakepath-collector", WP_LOG_INFO, 2}};
    struct wp_service service = {.reload = &reload_asked, .on_reload = reload, .context = &daemon};
    struct wp_error err = {0};
    struct sigaction action = {.sa_handler = take_signal};
    wp_standard_output_check_at_exit();
    sigaction(SIGHUP, &action, NULL); /* first: a reload asked early must not end us */
    struct wp_collector_live live = {&daemon.logger.level, &daemon.window};
    wp_collector_options_parse(&daemon.options, &live, &daemon.config, argc, argv);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    /* What is read of a file goes back to the system; else malloc learns to keep up to 32 MiB of it, in the arena of
     * each thread that reads. */
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    wp_service_init(&service);
    daemon.options.stop = &stop_asked;
    daemon.options.service = &service;
    int rc = wp_collector_run(&daemon.options, &daemon.logger, &err);
    if (rc)
        wp_log(&daemon.logger, WP_LOG_ERROR, "%s", err.text);
    wp_service_fini(&service);
    wp_config_destroy(daemon.config);
    return rc ? WP_EXIT_FAILURE : WP_EXIT_OK;
}
