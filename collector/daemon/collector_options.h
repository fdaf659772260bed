/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_COLLECTOR_DAEMON_COLLECTOR_OPTIONS_H
#define WP_COLLECTOR_DAEMON_COLLECTOR_OPTIONS_H
/* The command line of wakepath-collector. */
#include "collector/host/test_clock.h"
#include "collector/live/source_bpf_options.h"
#include "collector/send/uplink.h"
#include "common/log.h"

#include <signal.h>
#include <stdio.h>

#define WP_OVERHEAD_DEFAULT 1.0 /* percent of one CPU */

struct wp_config;
struct wp_service;

#define WP_COLLECTOR_LIST 64u

enum wp_collector_source { WP_FROM_BPF, WP_FROM_PERF_SCRIPT, WP_FROM_CAPTURE };

enum wp_collector_probe { WP_NOT_ASKED, WP_ASKED_TEXT, WP_ASKED_JSON };

struct wp_collector_options {
    enum wp_collector_probe probe; /* only say what the kernel offers */
    enum wp_collector_source source;
    const char *source_path;         /* of perf-script and capture; "-": standard input */
    struct wp_uplink_options uplink; /* an aggregator, a capture or both */
    const char *hostname, *release;  /* NULL: as found, none */
    const char *part;                /* what of the machine the host is (its network namespace); NULL: all of it */
    struct wp_test_clock test_clock;
    const struct wp_window *window; /* when to record, unless an aggregator says; borrowed, may change while it runs */
    const char *labels[WP_COLLECTOR_LIST];
    const char *patterns[WP_COLLECTOR_LIST]; /* of command lines. May change while it runs, reloads says when */
    unsigned label_count, pattern_count;
    const char *debuginfod;                 /* servers of debug files, with blanks between; NULL: none is asked */
    const char *learned[WP_COLLECTOR_LIST]; /* programs */
    unsigned learned_count;
    unsigned reloads; /* how often that was */
    struct wp_source_bpf_options bpf;
    uint32_t command_pid;
    uint64_t duration_ns; /* 0: until stopped or the source ends */
    bool is_fast;         /* a capture is sent as fast as it is taken, not at its own pace */
    bool says_stats;
    double overhead_percent;     /* the most of one CPU, 0: as it comes. May change while it runs */
    const char *metrics;         /* where to tell them; NULL: nowhere */
    bool is_unfiltered;          /* any system call may be made */
    int ready_fd;                /* -1: none */
    volatile sig_atomic_t *stop; /* borrowed */
    struct wp_service *service;  /* borrowed; NULL: no supervisor */
};

/* What may change while it runs; borrowed from the caller for the options' life. */
struct wp_collector_live {
    enum wp_log_level *log_level;
    struct wp_window *window;
};

/* Command line, environment and file. Exits with a message on wrong use, and after --help and --version. Strings point
 * into argv and *config, the caller's to destroy. */
void wp_collector_options_parse(struct wp_collector_options *options, const struct wp_collector_live *live,
    struct wp_config **config, int argc, char **argv);
/* As wp_config_reload: true when `options` and `live` hold what is set now. */
bool wp_collector_options_reload(struct wp_collector_options *options, const struct wp_collector_live *live,
    struct wp_config *config, const struct wp_logger *logger);

#endif
