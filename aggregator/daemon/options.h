/* SPDX-License-Identifier: Apache-2.0 */
#ifndef WP_AGGREGATOR_DAEMON_OPTIONS_H
#define WP_AGGREGATOR_DAEMON_OPTIONS_H
/* The command line of wakepath-aggregator. */
#include "aggregator/daemon/ingest.h"
#include "common/log.h"

struct wp_config;

/* All settings of the daemon, with what they own. */
struct wp_aggregator_options {
    struct wp_engine_options engine;
    struct wp_ingest_options ingest;
    const char *resume; /* as given */
    char *resume_owned;
    bool is_resumed;
    struct wp_release_rule *release_rules; /* owned */
    struct wp_aggregate_rule *rules;       /* owned */
    struct wp_ingest_peer *peers;          /* owned */
    struct wp_metadata_entry *labels;      /* owned, and their keys */
    enum wp_log_level log_level;
    struct wp_window window;  /* for all collectors; unsaid: as they like */
    struct wp_config *config; /* owned; strings point into it */
};

/* Command line, environment and file; prints usage and exits 64 on a bad one (argp). */
void wp_aggregator_options_parse(struct wp_aggregator_options *options, int argc, char **argv);
/* Reads file and environment anew: true when log level, window and rules hold what is set now. The rules before are
 * gone then: the engine must have those of now (wp_engine_session_options) before it is asked for anything else. */
bool wp_aggregator_options_reload(struct wp_aggregator_options *options, const struct wp_logger *logger);
/* Frees rules, peers, labels and the configuration, which the strings in `engine` and `ingest` point into: after the
 * engine. Only what wp_aggregator_options_parse() filled; nothing is zeroed. */
void wp_aggregator_options_fini(struct wp_aggregator_options *options);

#endif
