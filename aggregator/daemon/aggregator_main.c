/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/daemon/options.h"
#include "common/service.h"
#include "common/standard_output.h"
#include "common/version.h"

#include <malloc.h>
#include <signal.h>

#define LARGE_BYTES (256 << 10)
#define SPARE_BYTES (8 << 20)

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
    struct wp_aggregator_options options;
    volatile sig_atomic_t reread_asked; /* rules, window, the list of keys */
};

static void reload(void *context)
{
    struct daemon *daemon = context;
    if (wp_aggregator_options_reload(&daemon->options, &daemon->logger))
        wp_log_set_level(&daemon->logger, daemon->options.log_level);
    daemon->reread_asked = 1; /* a list of keys may be sound though the settings are not */
}

int main(int argc, char **argv)
{
    struct daemon daemon = {.logger = {"wakepath-aggregator", WP_LOG_INFO, 2}};
    struct wp_aggregator_options *options = &daemon.options;
    struct sigaction action = {.sa_handler = take_signal};
    wp_standard_output_check_at_exit();
    sigaction(SIGHUP, &action, NULL); /* first: a reload asked early must not end us */
    wp_aggregator_options_parse(options, argc, argv);
    daemon.logger.level = options->log_level;
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    /* Buffers of an epoch go back to the system; else one large one makes malloc keep all smaller ones between what
     * lives on. */
    mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
    /* That alone makes malloc give what is free at the end of its memory back from 128 KiB on, to ask for it again. */
    mallopt(M_TRIM_THRESHOLD, SPARE_BYTES);
    struct wp_service service = {.reload = &reload_asked, .on_reload = reload, .context = &daemon};
    struct wp_error err = {0};
    wp_service_init(&service);
    options->ingest.stop = &stop_asked;
    options->ingest.service = &service;
    options->ingest.reload = &daemon.reread_asked;
    options->ingest.rules = &options->engine.session;
    options->ingest.window = &options->window;
    int rc = wp_ingest_run(&options->engine, &options->ingest, &daemon.logger, &err);
    if (rc)
        wp_log(&daemon.logger, WP_LOG_ERROR, "%s", err.text);
    wp_service_fini(&service);
    wp_aggregator_options_fini(options);
    return rc ? WP_EXIT_FAILURE : WP_EXIT_OK;
}
