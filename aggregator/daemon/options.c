/* SPDX-License-Identifier: Apache-2.0 */
#include "aggregator/daemon/options.h"

#include "aggregator/explain/explain_options.h"
#include "aggregator/peer/shard_types.h"
#include "common/array.h"
#include "common/config.h"
#include "common/config_value.h"
#include "common/health.h"
#include "common/path.h"
#include "common/utf8.h"
#include "common/version.h"
#include "proto/endpoint.h"
#include "storage/kind/metadata_store.h"

#include <argp.h>
#include <stdio.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define HOST_MEMORY ((uint64_t)4096 << 20)

enum {
    KEY_BIND = 'b',
    KEY_STORE = 's',
    KEY_RELEASE = 'r',
    KEY_AGGREGATE = 'a',
    KEY_SHARD = 256,
    KEY_AUTO,
    KEY_EXIT,
    KEY_READY,
    KEY_LOG,
    KEY_EPOCH,
    KEY_LATENESS,
    KEY_HISTORY,
    KEY_LOOKBACK,
    KEY_LOOKBACK_MEMORY,
    KEY_FIT,
    KEY_JOIN,
    KEY_LATE_SAMPLE,
    KEY_DEPTH,
    KEY_WIDTH,
    KEY_BUDGET,
    KEY_HOSTS,
    KEY_MEMORY,
    KEY_HOST_MEMORY,
    KEY_EXPECT,
    KEY_GIVE_UP,
    KEY_RELEASE_RULE,
    KEY_KEY,
    KEY_ALLOW,
    KEY_INSECURE,
    KEY_RESUME,
    KEY_NO_RESUME,
    KEY_END_FULL,
    KEY_SKIP_EMPTY,
    KEY_NO_SYNC,
    KEY_ANY_SHARD,
    KEY_METRICS,
    KEY_PEER,
    KEY_WINDOW,
    KEY_LABEL,
    KEY_LATE_AFTER,
    KEY_COMMAND,
    KEY_WORKLOAD,
    KEY_SYSTEM
};

#define LABELS 64u
#define RECORDED_BYTES 2048u /* of a command line or a workload */

static const struct argp_option option_table[] = {
    {"bind", KEY_BIND, "ENDPOINT", 0, "listen at ipc:///path or tcp://address:port", 0},
    {"key", KEY_KEY, "FILE", 0, "this aggregator's secret key for tcp:// (wakepath keygen makes one)", 0},
    {"allow", KEY_ALLOW, "FILE", 0,
        "allowlist for tcp://: a file of public keys, or a folder of *.pub files; read again when it changes", 0},
    {"insecure", KEY_INSECURE, 0, 0, "accept everybody by tcp://, in plaintext, without keys", 0},
    {"peer", KEY_PEER, "ENDPOINT[=FILE]", 0,
        "another aggregator (shard) of the fleet, which must name this one as its peer; FILE: its public key, for "
        "tcp://; may be repeated",
        0},
    {"store", KEY_STORE, "ROOT", 0, "the store's folder", 0},
    {"release", KEY_RELEASE, "ID", 0, "release of hosts without --release (default: unversioned)", 0},
    {"release-rule", KEY_RELEASE_RULE, "ID=SELECTOR", 0,
        "release of the processes that the selector picks, unless WAKEPATH_RELEASE in their environment names one; may "
        "be repeated",
        0},
    {"shard", KEY_SHARD, "ID", 0, "name of this aggregator's share of the data (default: local)", 0},
    {"any-shard", KEY_ANY_SHARD, 0, 0,
        "where another one writes as that shard, be the first free one of ID-2, ID-3 and so on; needs --no-resume", 0},
    {"label", KEY_LABEL, "KEY=VALUE", 0, "add label.KEY to the metadata of each release; may be repeated", 0},
    {"command-line", KEY_COMMAND, "TEXT", 0,
        "all that is recorded is of this command: reports of other commands are not summed with it", 0},
    {"workload", KEY_WORKLOAD, "NAME", 0,
        "all that is recorded is of this workload: reports of other workloads are not summed with it", 0},
    {"system-window", KEY_SYSTEM, "FILE", 0,
        "at the end write what all threads of the first host did, for wakepath-reporter --system-window", 0},
    {"aggregate", KEY_AGGREGATE, "NAME=SELECTOR", 0, "report on the processes that the selector picks; may be repeated",
        0},
    {"auto-aggregates", KEY_AUTO, "N", 0, "also report on the N busiest services, one aggregate each", 0},
    {"exit-after-sessions", KEY_EXIT, "N", 0, "end after N sessions have ended", 0},
    {"end-when-full", KEY_END_FULL, 0, 0,
        "end with an error when the store's disk is full (default: wait for room, acknowledging nothing)", 0},
    {"skip-empty", KEY_SKIP_EMPTY, 0, 0, "write nothing before an aggregate has time, and nothing where none has", 0},
    {"no-sync", KEY_NO_SYNC, 0, 0,
        "do not wait for the store's disk: for a store that is made anew when the machine crashes; needs --no-resume",
        0},
    {"ready-fd", KEY_READY, "FD", 0, "write a line to this descriptor when listening", 0},
    {"window", KEY_WINDOW, "WINDOW", 0,
        "make all hosts record in windows of wall time, such as \"1s every 60s\", or always (default: each host's "
        "--window)",
        0},
    {"epoch", KEY_EPOCH, "MS", 0, "length of an epoch (default 1000)", 0},
    {"lateness", KEY_LATENESS, "MS", 0, "how long an epoch waits for late data (default 2000)", 0},
    {"history", KEY_HISTORY, "MS", 0, "how far back explanations reach (default 10000)", 0},
    {"lookback", KEY_LOOKBACK, "MS", 0,
        "keep this much history to explain long waits, bounded by --lookback-memory; needs --no-resume (default: "
        "--history)",
        0},
    {"lookback-memory", KEY_LOOKBACK_MEMORY, "MIB", 0,
        "most memory for a host's switches, samples and messages with --lookback (default 1024)", 0},
    {"fit", KEY_FIT, "US", 0, "most overlap of two intervals that still are one control path (default 100)", 0},
    {"join", KEY_JOIN, "US", 0,
        "a run shorter than this does not interrupt a loop of sleeps that time out (default 100)", 0},
    {"late-sample", KEY_LATE_SAMPLE, "US", 0,
        "most lateness of a sample that still belongs to the run before it (default 20)", 0},
    {"late-after", KEY_LATE_AFTER, "S", 0,
        "count data as late that arrives this long after its hour has ended, or never (default 3600)", 0},
    {"depth", KEY_DEPTH, "N", 0, "most waits to follow in a chain (default 64)", 0},
    {"width", KEY_WIDTH, "N", 0, "most intervals examined to explain one sleep (default 200000)", 0},
    {"budget", KEY_BUDGET, "N", 0, "most intervals examined to explain one epoch of a host (default 10000000)", 0},
    {"host-reports", KEY_HOSTS, "N", 0,
        "number of hosts with reports of their own; further hosts share one (default 256)", 0},
    {"memory", KEY_MEMORY, "MIB", 0,
        "most memory of all sessions; above it the largest session of the host that holds most is ended (default: "
        "three quarters of the machine's; 0: no limit)",
        0},
    {"host-memory", KEY_HOST_MEMORY, "MIB", 0,
        "most memory of one host's sessions; above it its largest session is ended (default 4096; 0: no limit)", 0},
    {"expect-hosts", KEY_EXPECT, "N", 0, "explain nothing before N hosts have connected (for replays; default 0)", 0},
    {"give-up", KEY_GIVE_UP, "MS", 0, "do not wait for a host that has been silent this long (default 5000)", 0},
    {"resume", KEY_RESUME, "DIR", 0,
        "folder of checkpoints, from which live sessions continue after a restart (default: STORE.resume, beside the "
        "store)",
        0},
    {"no-resume", KEY_NO_RESUME, 0, 0, "write no checkpoints: after a restart sessions begin again", 0},
    {"metrics", KEY_METRICS, "ADDRESS:PORT", 0,
        "serve /metrics (Prometheus) and /healthz by HTTP at this address, or none (default: none; the service's file "
        "has 127.0.0.1:9470); port 0: any free one",
        0},
    {"log-level", KEY_LOG, "LEVEL", 0, "error, warn, info or debug (default info)", 0},
    {0},
};

static void add_rule(struct wp_aggregator_options *options, struct argp_state *state, const char *text)
{
    uint32_t count = options->engine.session.rule_count;
    if (count == WP_AGGREGATES)
        wp_config_refuse(state, "more than %u aggregates", WP_AGGREGATES);
    if (WP_ARRAY_NEXT(options->rules, count))
        wp_config_refuse(state, "out of memory");
    struct wp_aggregate_rule *rule = &options->rules[count];
    wp_config_named_selector(state, "--aggregate takes NAME=SELECTOR", text, rule->name, &rule->selector);
    options->engine.session.rules = options->rules;
    options->engine.session.rule_count = count + 1;
    if (!wp_id_valid(rule->name) || !strcmp(rule->name, "__state__") || !strcmp(rule->name, "__source__"))
        wp_config_refuse(state, "'%s' cannot name an aggregate: use [A-Za-z0-9._+-]", rule->name);
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(options->rules[i].name, rule->name))
            wp_config_refuse(state, "two aggregates are named '%s'", rule->name);
}

static void add_release_rule(struct wp_aggregator_options *options, struct argp_state *state, const char *text)
{
    uint32_t count = options->engine.session.release_rule_count;
    if (WP_ARRAY_NEXT(options->release_rules, count))
        wp_config_refuse(state, "out of memory");
    struct wp_release_rule *rule = &options->release_rules[count];
    wp_config_named_selector(state, "--release-rule takes ID=SELECTOR", text, rule->release, &rule->selector);
    options->engine.session.release_rules = options->release_rules;
    options->engine.session.release_rule_count = count + 1;
    wp_config_id(state, "a release", rule->release);
}

static void add_peer(struct wp_aggregator_options *options, struct argp_state *state, char *text)
{
    uint32_t count = options->ingest.peer_count;
    char *equals = strchr(text, '=');
    if (count == WP_SHARD_LINKS)
        wp_config_refuse(state, "more than %u peers", WP_SHARD_LINKS);
    if (strncmp(text, "ipc://", 6) && strncmp(text, "tcp://", 6))
        wp_config_refuse(
            state, "--peer takes ENDPOINT (ipc:///path or tcp://address:port) or ENDPOINT=FILE, not '%s'", text);
    char *endpoint = !WP_ARRAY_NEXT(options->peers, count) ? strdup(text) : NULL;
    if (!endpoint)
        wp_config_refuse(state, "out of memory");
    endpoint[equals ? equals - text : (ptrdiff_t)strlen(text)] = 0;
    options->peers[count] = (struct wp_ingest_peer){endpoint, equals ? equals + 1 : NULL};
    options->ingest.peers = options->peers;
    options->ingest.peer_count = count + 1;
}

static void add_label(struct wp_aggregator_options *options, struct argp_state *state, const char *text)
{
    uint32_t count = options->engine.label_count;
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || equals - text > 128)
        wp_config_refuse(state, "--label takes KEY=VALUE, not '%s'", text);
    if (count == LABELS)
        wp_config_refuse(state, "more than %u labels", LABELS);
    char *key = !WP_ARRAY_NEXT(options->labels, count) ? strndup(text, (size_t)(equals - text)) : NULL;
    if (!key)
        wp_config_refuse(state, "out of memory");
    options->labels[count] = (struct wp_metadata_entry){key, equals + 1};
    options->engine.labels = options->labels;
    options->engine.label_count = count + 1;
}

static const char *recorded_text(const struct argp_state *state, const char *option, const char *text)
{
    if (!wp_utf8_is_plain(text, RECORDED_BYTES))
        wp_config_refuse(state, "%s takes a text of 1 to %u bytes without control characters", option, RECORDED_BYTES);
    return text;
}

static size_t strlen_without_slashes(const char *path)
{
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    return size;
}

/* Of struct wp_aggregator_options. */
#define FIELD(key, kind, field) WP_CONFIG_FIELD(key, kind, struct wp_aggregator_options, field)
#define CLEARED(key, field) WP_CONFIG_CLEARED(key, struct wp_aggregator_options, field)
#define NUMBER(key, name, field, low, high, factor)                                                                    \
    WP_CONFIG_NUMBER_FIELD(key, name, struct wp_aggregator_options, field, low, high, factor)
static const struct wp_config_field fields[] = {
    FIELD(KEY_KEY, WP_CONFIG_TEXT, ingest.key_path),
    FIELD(KEY_ALLOW, WP_CONFIG_TEXT, ingest.allow_path),
    FIELD(KEY_STORE, WP_CONFIG_TEXT, engine.store),
    FIELD(KEY_SYSTEM, WP_CONFIG_TEXT, ingest.system_window),
    FIELD(KEY_INSECURE, WP_CONFIG_FLAG, ingest.is_insecure),
    FIELD(KEY_END_FULL, WP_CONFIG_FLAG, ingest.ends_when_full),
    FIELD(KEY_SKIP_EMPTY, WP_CONFIG_FLAG, engine.waits_for_time),
    FIELD(KEY_NO_SYNC, WP_CONFIG_FLAG, engine.is_unsynced),
    FIELD(KEY_ANY_SHARD, WP_CONFIG_FLAG, engine.is_any_shard),
    CLEARED(KEY_NO_RESUME, is_resumed),
    NUMBER(KEY_AUTO, "--auto-aggregates", engine.session.auto_aggregates, 0, 60, 1),
    NUMBER(KEY_EXIT, "--exit-after-sessions", ingest.exit_after_sessions, 0, 1000000, 1),
    NUMBER(KEY_READY, "--ready-fd", ingest.ready_fd, 0, 1 << 20, 1),
    NUMBER(KEY_EPOCH, "--epoch", engine.session.epoch_ns, 10, 60000, WP_NS_PER_MS),
    NUMBER(KEY_LATENESS, "--lateness", engine.session.lateness_ns, 0, 600000, WP_NS_PER_MS),
    NUMBER(KEY_HISTORY, "--history", engine.session.history_ns, 1000, 3600000, WP_NS_PER_MS),
    NUMBER(KEY_FIT, "--fit", engine.session.fit_ns, 1, 100000, WP_NS_PER_US),
    NUMBER(KEY_JOIN, "--join", engine.session.join_ns, 1, 100000, WP_NS_PER_US),
    NUMBER(KEY_LOOKBACK, "--lookback", engine.session.lookback_ns, 1000, 86400000, WP_NS_PER_MS),
    NUMBER(KEY_LOOKBACK_MEMORY, "--lookback-memory", engine.session.lookback_bytes, 1, 1048576, 1 << 20),
    NUMBER(KEY_LATE_SAMPLE, "--late-sample", engine.session.late_sample_ns, 1, 100000, WP_NS_PER_US),
    NUMBER(KEY_MEMORY, "--memory", engine.memory, 0, 1 << 26, 1 << 20),
    NUMBER(KEY_HOST_MEMORY, "--host-memory", engine.host_memory, 0, 1 << 26, 1 << 20),
    NUMBER(KEY_HOSTS, "--host-reports", engine.host_parts, 0, WP_HOST_PARTS_LIMIT, 1),
    NUMBER(KEY_DEPTH, "--depth", engine.session.depth, 2, WP_DEPTH_LIMIT, 1),
    NUMBER(KEY_BUDGET, "--budget", engine.session.budget, 10000, 2000000000, 1),
    NUMBER(KEY_WIDTH, "--width", engine.session.width, 100, 100000000, 1),
    NUMBER(KEY_EXPECT, "--expect-hosts", engine.expected_hosts, 0, WP_FLEET_HOSTS, 1),
    NUMBER(KEY_GIVE_UP, "--give-up", engine.give_up_ns, 100, 3600000, WP_NS_PER_MS),
    {0},
};

/* What only all options together tell. */
static void check(struct wp_aggregator_options *options, const struct argp_state *state)
{
    const struct wp_engine_options *engine = &options->engine;
    struct wp_error err = {0};
    if (!options->ingest.endpoint || !engine->store)
        wp_config_refuse(state, "--bind and --store are needed");
    if (engine->session.lookback_ns && options->is_resumed)
        wp_config_refuse(
            state, "--lookback needs --no-resume: what is kept for a restart reaches back over the history only");
    if (engine->is_unsynced && options->is_resumed)
        wp_config_refuse(state, "--no-sync needs --no-resume: what is kept for a restart rests on the store");
    if (engine->is_any_shard && options->is_resumed)
        wp_config_refuse(state, "--any-shard needs --no-resume: what is kept for a restart is of one shard");
    if (wp_endpoint_check_keys(options->ingest.endpoint, true,
            (options->ingest.key_path != NULL) + (options->ingest.allow_path != NULL), options->ingest.is_insecure,
            &err))
        wp_config_refuse(state, "%s", err.text);
}

static void set_resume(struct wp_aggregator_options *options)
{
    struct wp_engine_options *engine = &options->engine;
    if (options->is_resumed && options->resume)
        options->resume_owned = strdup(options->resume);
    else if (options->is_resumed &&
        asprintf(&options->resume_owned, "%.*s.resume", (int)strlen_without_slashes(engine->store), engine->store) < 0)
        options->resume_owned = NULL;
    engine->resume = options->resume_owned;
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct wp_aggregator_options *options = state->input;
    struct wp_engine_options *engine = &options->engine;
    struct wp_error err = {0};
    bool is_network;
    switch (key) {
    case KEY_BIND:
        if (wp_endpoint_is_network(argument, &is_network, &err))
            wp_config_refuse(state, "--bind: %s", err.text);
        options->ingest.endpoint = argument;
        break;
    case KEY_PEER:
        add_peer(options, state, argument);
        break;
    case KEY_RELEASE:
        engine->default_release = wp_config_id(state, "a release", argument);
        break;
    case KEY_SHARD:
        engine->shard = wp_config_id(state, "a shard", argument);
        break;
    case KEY_LABEL:
        add_label(options, state, argument);
        break;
    case KEY_COMMAND:
        engine->session.command = recorded_text(state, "--command-line", argument);
        break;
    case KEY_WORKLOAD:
        engine->session.workload = recorded_text(state, "--workload", argument);
        break;
    case KEY_AGGREGATE:
        add_rule(options, state, argument);
        break;
    case KEY_WINDOW:
        options->window = wp_config_window(state, argument);
        break;
    case KEY_LATE_AFTER:
        engine->late_after_s =
            strcmp(argument, "never") ? wp_config_number(state, "--late-after", argument, 0, UINT32_MAX) : UINT64_MAX;
        break;
    case KEY_RELEASE_RULE:
        add_release_rule(options, state, argument);
        break;
    case KEY_RESUME:
        options->resume = argument;
        options->is_resumed = true;
        break;
    case KEY_METRICS:
        options->ingest.metrics = wp_health_option(state, argument);
        break;
    case KEY_LOG:
        options->log_level = wp_config_log_level(state, argument);
        break;
    case ARGP_KEY_ARG:
        wp_config_refuse(state, "unexpected argument '%s'", argument);
        break;
    case ARGP_KEY_END:
        check(options, state);
        set_resume(options);
        if (!engine->session.rule_count && !engine->session.auto_aggregates)
            engine->session.auto_aggregates = 20;
        break;
    default:
        return wp_config_put(fields, options, state, key, argument) ? 0 : ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void set_defaults(struct wp_aggregator_options *options)
{
    *options = (struct wp_aggregator_options){
        .engine = WP_ENGINE_DEFAULTS, .ingest = {.ready_fd = -1}, .is_resumed = true, .log_level = WP_LOG_INFO};
    options->engine.labels_s = (uint64_t)time(NULL);
    options->engine.host_memory = HOST_MEMORY;
    options->engine.memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 4 * 3;
}

void wp_aggregator_options_parse(struct wp_aggregator_options *options, int argc, char **argv)
{
    static const char *const flags_only[] = {"ready-fd", "system-window", NULL};
    static const char *const live_keys[] = {
        "aggregate", "auto-aggregates", "log-level", "release-rule", "window", NULL};
    static const struct argp argp = {option_table, parse_option, NULL,
        "Receives the events of collectors, computes who waited for whom, and writes reports to a store.", NULL, NULL,
        NULL};
    static const struct wp_config_spec spec = {
        &argp, "aggregator", "/etc/wakepath/aggregator.conf", flags_only, live_keys};
    set_defaults(options);
    argp_err_exit_status = WP_EXIT_USAGE;
    argp_program_version = "wakepath-aggregator " WP_VERSION;
    wp_config_parse(&options->config, &spec, argc, argv, options);
}

static void free_values(struct wp_aggregator_options *options)
{
    for (uint32_t i = 0; i < options->engine.session.rule_count; i++)
        wp_selector_fini(&options->rules[i].selector);
    for (uint32_t i = 0; i < options->engine.session.release_rule_count; i++)
        wp_selector_fini(&options->release_rules[i].selector);
    free(options->release_rules);
    for (uint32_t i = 0; i < options->ingest.peer_count; i++)
        free((char *)(uintptr_t)options->peers[i].endpoint);
    free(options->peers);
    for (uint32_t i = 0; i < options->engine.label_count; i++)
        free((char *)(uintptr_t)options->labels[i].key);
    free(options->labels);
    free(options->resume_owned);
    free(options->rules);
}

/* What is live goes to `options`, what it had before to `next`. */
static void take_live(struct wp_aggregator_options *options, struct wp_aggregator_options *next)
{
    struct wp_aggregator_options before = *options;
    options->window = next->window;
    options->log_level = next->log_level;
    options->rules = next->rules;
    options->release_rules = next->release_rules;
    wp_host_session_options_take_rules(&options->engine.session, &next->engine.session);
    next->rules = before.rules;
    next->release_rules = before.release_rules;
    wp_host_session_options_take_rules(&next->engine.session, &before.engine.session);
}

bool wp_aggregator_options_reload(struct wp_aggregator_options *options, const struct wp_logger *logger)
{
    struct wp_aggregator_options next;
    set_defaults(&next);
    bool is_sound = wp_config_reload(options->config, &next, logger);
    if (is_sound)
        take_live(options, &next);
    free_values(&next);
    return is_sound;
}

void wp_aggregator_options_fini(struct wp_aggregator_options *options)
{
    free_values(options);
    wp_config_destroy(options->config);
}
