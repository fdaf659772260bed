/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/daemon/collector_options.h"

#include "common/config.h"
#include "common/config_value.h"
#include "common/health.h"
#include "common/version.h"
#include "proto/endpoint.h"

#include <argp.h>
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    KEY_SOURCE = 's',
    KEY_CONNECT = 'c',
    KEY_OUTPUT = 'o',
    KEY_FREQUENCY = 'F',
    KEY_DURATION = 'd',
    KEY_RELEASE = 'r',
    KEY_FILTER = 256,
    KEY_COMMAND,
    KEY_RECORDER,
    KEY_AGGREGATOR,
    KEY_NETNS,
    KEY_MATCH,
    KEY_HOSTNAME,
    KEY_LABEL,
    KEY_READY,
    KEY_LOG,
    KEY_RING,
    KEY_SPEED,
    KEY_STATS,
    KEY_TEST_CLOCK,
    KEY_SPOOL,
    KEY_SPOOL_LIMIT,
    KEY_KEY,
    KEY_SERVER_KEY,
    KEY_INSECURE,
    KEY_NO_SECCOMP,
    KEY_PROBE,
    KEY_LEFT_OUT,
    KEY_METRICS,
    KEY_OVERHEAD,
    KEY_CACHE,
    KEY_WINDOW,
    KEY_INTERPRETERS,
    KEY_LEARN,
    KEY_LEARN_RUNNING,
    KEY_DEBUGINFOD,
    KEY_SESSION_LIMIT,
    KEY_OUTPUT_LIMIT
};

#define DEFAULT_SPOOL "/var/spool/wakepath"
#define OVERHEAD_LEAST 0.01
#define OVERHEAD_MOST 1e5
#define SPOOL_LIMIT ((uint64_t)256 << 20)
#define SPOOL_LEAST ((uint64_t)1 << 20)
#define SPOOL_MOST ((uint64_t)1 << 40)
#define SESSION_LIMIT ((uint64_t)64 << 20) /* an aggregator takes 1 GiB (proto/dictionary.c) */
#define SESSION_LEAST ((uint64_t)64 << 10)
#define SESSION_MOST ((uint64_t)768 << 20)

static const struct argp_option option_table[] = {
    {"source", KEY_SOURCE, "SOURCE", 0, "bpf (default: the live kernel), perf-script:FILE (or -), capture:FILE", 0},
    {"connect", KEY_CONNECT, "ENDPOINT", 0,
        "send to the aggregator at ipc:///path or tcp://address:port; may be repeated: the next one is used when one "
        "does not answer",
        0},
    {"key", KEY_KEY, "FILE", 0, "this host's secret key for tcp:// (wakepath keygen makes one)", 0},
    {"server-key", KEY_SERVER_KEY, "FILE", 0,
        "the aggregator's public key; one for all --connect, or one for each; may be repeated", 0},
    {"insecure", KEY_INSECURE, 0, 0, "send by tcp:// in plaintext, without keys", 0},
    {"spool", KEY_SPOOL, "DIR", 0,
        "keep unacknowledged batches in this folder, or none: in memory (default: " DEFAULT_SPOOL
        " for the live kernel and a tcp endpoint)",
        0},
    {"spool-limit", KEY_SPOOL_LIMIT, "BYTES", 0,
        "most bytes in the spool, with K, M or G; when it is full the oldest batches are removed and counted as lost "
        "(default 256M)",
        0},
    {"session-limit", KEY_SESSION_LIMIT, "BYTES", 0,
        "most bytes in a session's dictionary (threads, sockets, stacks, strings), with K, M or G; then the session "
        "continues in a new one; 64K to 768M (default 64M)",
        0},
    {"unwind-cache", KEY_CACHE, "DIR", 0,
        "keep unwind rows of objects in this folder, by build id, and the names of places in them, so that a restart "
        "does "
        "not read them again; or none "
        "(default none; the service's file names one)",
        0},
    {"interpreters", KEY_INTERPRETERS, "WHICH", 0,
        "auto: stacks have the functions and lines of interpreted languages (CPython 3.9 to 3.14, "
        "CRuby 3.1 and 3.3, PHP 8.2 and 8.4, Perl 5.36, 5.40 and 5.42, HotSpot 17, Node.js 18, 20, 22 and 24); none: "
        "only "
        "those of the interpreter "
        "(default auto)",
        0},
    {"debuginfod", KEY_DEBUGINFOD, "URLS", 0,
        "ask these debuginfod(8) servers, separated by blanks, for debug files; build ids then leave the host; or none "
        "(default none)",
        0},
    {"learn", KEY_LEARN, "PROGRAM", 0,
        "read the unwind rows of this program and its linked libraries before the first event (ten seconds at most); "
        "may be repeated",
        0},
    {"learn-running", KEY_LEARN_RUNNING, NULL, 0,
        "read so those of the busiest running processes (with --learn, nobody waits for them)", 0},
    {"output", KEY_OUTPUT, "FILE", 0, "write a capture into this file; with or without --connect", 0},
    {"output-limit", KEY_OUTPUT_LIMIT, "MIB", 0,
        "with --connect: remove a capture that grows larger or cannot be written, and go on without it (default 0: no "
        "limit)",
        0},
    {"frequency", KEY_FREQUENCY, "HZ", 0, "samples a second and CPU, 0 for none (default 99)", 0},
    {"window", KEY_WINDOW, "WINDOW", 0,
        "record in windows of wall time, such as \"1s every 60s\", or always (default); an aggregator's --window "
        "overrides it",
        0},
    {"filter-pid", KEY_FILTER, "PID", 0, "take stacks and samples only of this process and its descendants", 0},
    {"recorder-pid", KEY_RECORDER, "PID", 0,
        "count this process and its children as the cost of recording, and take no stacks of it", 0},
    {"aggregator-pid", KEY_AGGREGATOR, "PID", 0, "take no stacks of this process", 0},
    {"command-pid", KEY_COMMAND, "PID", 0, "the recorded command is what this process runs from its exec on", 0},
    {"netns", KEY_NETNS, "PATH", 0, "record this network namespace as a host of its own, such as /run/netns/web", 0},
    {"match-cmdline", KEY_MATCH, "REGEX", 0,
        "match command lines against this pattern, for cmdline selectors (command lines do not leave the host); may be "
        "repeated",
        0},
    {"release", KEY_RELEASE, "ID", 0, "the release that runs on this host", 0},
    {"hostname", KEY_HOSTNAME, "NAME", 0, "this host's name in reports (default: its own)", 0},
    {"label", KEY_LABEL, "KEY=VALUE", 0, "a label of this host; may be repeated", 0},
    {"duration", KEY_DURATION, "SECONDS", 0, "stop after this time", 0},
    {"ready-fd", KEY_READY, "FD", 0,
        "write a line to this descriptor when tracing is on and the aggregator has answered", 0},
    {"overhead-limit", KEY_OVERHEAD, "PERCENT", 0,
        "most CPU time to use, in percent of one CPU; above it stacks are left out first, then intervals of events, "
        "and reported; none: no limit (default 1)",
        0},
    {"metrics", KEY_METRICS, "ADDRESS:PORT", 0,
        "serve /metrics (Prometheus) and /healthz by HTTP at this address, or none (default: none; the service's file "
        "has 127.0.0.1:9469); port 0: any free one",
        0},
    {"log-level", KEY_LOG, "LEVEL", 0, "error, warn, info or debug (default info)", 0},
    {"ring-size", KEY_RING, "BYTES", 0,
        "size of the ring between kernel and collector, a power of two (default 16777216, below 8 CPUs 8388608); "
        "the buffers of all CPUs together take as much again at most",
        0},
    {"replay-speed", KEY_SPEED, "SPEED", 0, "speed at which a capture is replayed: recorded or fast (default fast)", 0},
    {"test-clock", KEY_TEST_CLOCK, "OFFSET_MS[,PPM[,AFTER_S:STEP_MS]]", OPTION_HIDDEN,
        "be wrong about the time on purpose", 0},
    {"probe", KEY_PROBE, "FORM", OPTION_ARG_OPTIONAL,
        "print what this kernel offers and what would be used, as text (default) or json, and end", 0},
    {"test-left-out", KEY_LEFT_OUT, "PROGRAMS", OPTION_HIDDEN,
        "do without these, as on a kernel that does not have them", 0},
    {"stats", KEY_STATS, 0, 0, "print counts as JSON at the end", 0},
    {"no-seccomp", KEY_NO_SECCOMP, 0, 0, "run without the seccomp filter", 0},
    {0},
};

struct parse {
    struct wp_collector_options *options;
    const struct wp_collector_live *live;
};

static void take_source(struct wp_collector_options *o, struct argp_state *state, const char *text)
{
    if (!strcmp(text, "bpf")) {
        o->source = WP_FROM_BPF;
    } else if (!strncmp(text, "perf-script:", 12) && text[12]) {
        o->source = WP_FROM_PERF_SCRIPT;
        o->source_path = text + 12;
    } else if (!strncmp(text, "capture:", 8) && text[8]) {
        o->source = WP_FROM_CAPTURE;
        o->source_path = text + 8;
    } else {
        wp_config_refuse(state, "--source takes bpf, perf-script:FILE or capture:FILE, not '%s'", text);
    }
}

static void take_duration(struct wp_collector_options *o, struct argp_state *state, const char *text)
{
    char *end;
    double seconds = strtod(text, &end);
    if (*end || end == text || !(seconds > 0 && seconds < 1e9))
        wp_config_refuse(state, "--duration takes a number of seconds, not '%s'", text);
    o->duration_ns = (uint64_t)(seconds * 1e9);
}

static int take_overhead(const char *text, double *percent, struct wp_error *err)
{
    char *end;
    double value = strtod(text, &end);
    if (!strcmp(text, "none"))
        value = 0;
    else if (*end || end == text || !(value >= OVERHEAD_LEAST && value <= OVERHEAD_MOST))
        return wp_error_set(err, -EINVAL,
            "--overhead-limit takes percent of a CPU from %g to %g, or none, not '%.100s'", OVERHEAD_LEAST,
            OVERHEAD_MOST, text);
    *percent = value;
    return 0;
}

static void take_netns(struct wp_collector_options *o, struct argp_state *state, const char *path)
{
    struct stat status;
    if (stat(path, &status))
        wp_config_refuse(state, "no network namespace at '%s': %s", path, strerror(errno));
    o->bpf.netns_inum = (uint32_t)status.st_ino;
    o->part = path;
}

static void take_ring(struct wp_collector_options *o, struct argp_state *state, const char *text)
{
    uint32_t bytes = wp_config_number(state, "--ring-size", text, 65536, 1u << 30);
    if (bytes & (bytes - 1))
        wp_config_refuse(state, "--ring-size takes a power of two, not %u", bytes);
    o->bpf.ring_bytes = bytes;
}

static void take_probe(struct wp_collector_options *o, struct argp_state *state, const char *form)
{
    if (form && strcmp(form, "text") && strcmp(form, "json"))
        wp_config_refuse(state, "--probe takes text or json, not '%s'", form);
    o->probe = form && !strcmp(form, "json") ? WP_ASKED_JSON : WP_ASKED_TEXT;
}

static void check_pattern(struct argp_state *state, const char *text)
{
    regex_t pattern;
    char why[256];
    int rc = regcomp(&pattern, text, REG_EXTENDED | REG_NOSUB);
    if (rc) {
        regerror(rc, &pattern, why, sizeof(why));
        wp_config_refuse(state, "--match-cmdline: '%s' is not an extended regular expression: %s", text, why);
    }
    regfree(&pattern);
}

static void take_listed(struct argp_state *state, const char **list, unsigned *count, const char *text)
{
    if (*count == WP_COLLECTOR_LIST)
        wp_config_refuse(state, "more than %u of one option", WP_COLLECTOR_LIST);
    list[(*count)++] = text;
}

static void take_endpoint(struct wp_endpoints *endpoints, struct argp_state *state, const char *text)
{
    if (endpoints->count == WP_ENDPOINTS)
        wp_config_refuse(state, "more than %u of --connect", WP_ENDPOINTS);
    bool is_network;
    struct wp_error err = {0};
    if (wp_endpoint_is_network(text, &is_network, &err))
        wp_config_refuse(state, "--connect: %s", err.text);
    endpoints->names[endpoints->count++] = text;
}

static void take_server_key(struct wp_endpoints *endpoints, struct argp_state *state, const char *text)
{
    if (endpoints->server_key_count == WP_ENDPOINTS)
        wp_config_refuse(state, "more than %u of --server-key", WP_ENDPOINTS);
    endpoints->server_key_paths[endpoints->server_key_count++] = text;
}

static uint64_t take_bytes(
    struct argp_state *state, const char *text, uint64_t least, uint64_t most, const char *refusal)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    const char *unit = *end ? strchr("KMG", *end) : NULL;
    unsigned shift = unit ? (unsigned)(unit - "KMG" + 1) * 10 : 0;
    if (*text < '0' || *text > '9' || (*end && (!unit || end[1])) || value > most >> shift || value << shift < least)
        wp_config_refuse(state, "%s, not '%s'", refusal, text);
    return (uint64_t)value << shift;
}

/* A daemon that sends over a network keeps what it could not send; one that was not asked to can do without. */
static void choose_spool(struct wp_collector_options *o)
{
    struct wp_uplink_options *uplink = &o->uplink;
    uplink->needs_spool = uplink->spool != NULL;
    if (uplink->spool && !strcmp(uplink->spool, "none"))
        uplink->spool = NULL;
    else if (!uplink->spool && o->source == WP_FROM_BPF && !geteuid())
        for (unsigned i = 0; i < uplink->endpoints.count; i++)
            if (!strncmp(uplink->endpoints.names[i], "tcp://", 6))
                uplink->spool = DEFAULT_SPOOL;
}

static void check(const struct wp_collector_options *o, struct argp_state *state)
{
    if (o->probe)
        return;
    if (!o->uplink.endpoints.count && !o->uplink.output)
        wp_config_refuse(state, "--connect or --output is needed");
    unsigned keys = o->uplink.endpoints.server_key_count;
    if (keys > 1 && keys != o->uplink.endpoints.count)
        wp_config_refuse(state, "%u of --server-key for %u of --connect: give one for all or one for each", keys,
            o->uplink.endpoints.count);
    for (unsigned i = 0; i < o->uplink.endpoints.count; i++) {
        struct wp_error err = {0};
        if (wp_endpoint_check_keys(o->uplink.endpoints.names[i], false,
                (o->uplink.endpoints.key_path != NULL) + (keys > 0), o->uplink.endpoints.is_insecure, &err))
            wp_config_refuse(state, "%s", err.text);
    }
    if (!o->uplink.endpoints.count && o->uplink.output_limit)
        wp_config_refuse(state, "--output-limit is for --connect");
    if (!o->uplink.endpoints.count && o->uplink.spool)
        wp_config_refuse(state, "--spool is for --connect");
    if (o->source != WP_FROM_BPF && o->window->every_ns)
        wp_config_refuse(state, "--window is of the live kernel");
    if (o->source != WP_FROM_BPF && (o->bpf.filter_pid || o->bpf.netns_inum || o->pattern_count))
        wp_config_refuse(state, "--filter-pid, --netns and --match-cmdline are of the live kernel");
}

/* Of struct wp_collector_options. */
#define FIELD(key, kind, field) WP_CONFIG_FIELD(key, kind, struct wp_collector_options, field)
#define NUMBER(key, name, field, low, high, factor)                                                                    \
    WP_CONFIG_NUMBER_FIELD(key, name, struct wp_collector_options, field, low, high, factor)
static const struct wp_config_field fields[] = {
    FIELD(KEY_KEY, WP_CONFIG_TEXT, uplink.endpoints.key_path),
    FIELD(KEY_SPOOL, WP_CONFIG_TEXT, uplink.spool),
    FIELD(KEY_OUTPUT, WP_CONFIG_TEXT, uplink.output),
    FIELD(KEY_HOSTNAME, WP_CONFIG_TEXT, hostname),
    FIELD(KEY_LEFT_OUT, WP_CONFIG_TEXT, bpf.left_out),
    FIELD(KEY_CACHE, WP_CONFIG_TEXT_OR_NONE, bpf.unwind_cache),
    FIELD(KEY_DEBUGINFOD, WP_CONFIG_TEXT_OR_NONE, debuginfod),
    FIELD(KEY_INSECURE, WP_CONFIG_FLAG, uplink.endpoints.is_insecure),
    FIELD(KEY_STATS, WP_CONFIG_FLAG, says_stats),
    FIELD(KEY_NO_SECCOMP, WP_CONFIG_FLAG, is_unfiltered),
    FIELD(KEY_LEARN_RUNNING, WP_CONFIG_FLAG, bpf.learns_running),
    NUMBER(KEY_OUTPUT_LIMIT, "--output-limit", uplink.output_limit, 0, 1 << 20, 1 << 20),
    NUMBER(KEY_FREQUENCY, "--frequency", bpf.frequency_hz, 0, 50000, 1),
    NUMBER(KEY_FILTER, "--filter-pid", bpf.filter_pid, 1, 1u << 22, 1),
    NUMBER(KEY_RECORDER, "--recorder-pid", bpf.recorder_pid, 1, 1u << 22, 1),
    NUMBER(KEY_AGGREGATOR, "--aggregator-pid", bpf.aggregator_pid, 1, 1u << 22, 1),
    NUMBER(KEY_COMMAND, "--command-pid", command_pid, 1, 1u << 22, 1),
    NUMBER(KEY_READY, "--ready-fd", ready_fd, 0, 1 << 20, 1),
    {0},
};

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
    struct parse *parse = state->input;
    struct wp_collector_options *o = parse->options;
    struct wp_error err = {0};
    switch (key) {
    case KEY_SOURCE:
        take_source(o, state, argument);
        break;
    case KEY_CONNECT:
        take_endpoint(&o->uplink.endpoints, state, argument);
        break;
    case KEY_SERVER_KEY:
        take_server_key(&o->uplink.endpoints, state, argument);
        break;
    case KEY_SPOOL_LIMIT:
        o->uplink.spool_limit =
            take_bytes(state, argument, SPOOL_LEAST, SPOOL_MOST, "--spool-limit takes bytes from 1M to 1024G");
        break;
    case KEY_SESSION_LIMIT:
        o->uplink.session_bytes =
            take_bytes(state, argument, SESSION_LEAST, SESSION_MOST, "--session-limit takes bytes from 64K to 768M");
        break;
    case KEY_WINDOW:
        *parse->live->window = wp_config_window(state, argument);
        break;
    case KEY_NETNS:
        take_netns(o, state, argument);
        break;
    case KEY_MATCH:
        check_pattern(state, argument);
        take_listed(state, o->patterns, &o->pattern_count, argument);
        break;
    case KEY_RELEASE:
        o->release = wp_config_id(state, "a release", argument);
        break;
    case KEY_LABEL:
        take_listed(state, o->labels, &o->label_count, argument);
        break;
    case KEY_DURATION:
        take_duration(o, state, argument);
        break;
    case KEY_LOG:
        *parse->live->log_level = wp_config_log_level(state, argument);
        break;
    case KEY_RING:
        take_ring(o, state, argument);
        break;
    case KEY_SPEED:
        if (strcmp(argument, "fast") && strcmp(argument, "recorded"))
            wp_config_refuse(state, "--replay-speed takes recorded or fast, not '%s'", argument);
        o->is_fast = !strcmp(argument, "fast");
        break;
    case KEY_TEST_CLOCK:
        if (wp_test_clock_parse(&o->test_clock, argument, &err))
            wp_config_refuse(state, "%s", err.text);
        break;
    case KEY_PROBE:
        take_probe(o, state, argument);
        break;
    case KEY_METRICS:
        o->metrics = wp_health_option(state, argument);
        break;
    case KEY_INTERPRETERS:
        if (strcmp(argument, "auto") && strcmp(argument, "none"))
            wp_config_refuse(state, "--interpreters takes auto or none, not '%s'", argument);
        o->bpf.is_native_only = !strcmp(argument, "none");
        break;
    case KEY_LEARN:
        take_listed(state, o->learned, &o->learned_count, argument);
        break;
    case KEY_OVERHEAD:
        if (take_overhead(argument, &o->overhead_percent, &err))
            wp_config_refuse(state, "%s", err.text);
        break;
    case ARGP_KEY_ARG:
        wp_config_refuse(state, "unexpected argument '%s'", argument);
        break;
    case ARGP_KEY_END:
        check(o, state);
        o->uplink.is_replay = o->source == WP_FROM_CAPTURE;
        choose_spool(o);
        break;
    default:
        return wp_config_put(fields, o, state, key, argument) ? 0 : ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static void set_defaults(struct wp_collector_options *options, const struct wp_collector_live *live)
{
    *options = (struct wp_collector_options){.bpf = {.frequency_hz = 99},
        .is_fast = true,
        .ready_fd = -1,
        .overhead_percent = WP_OVERHEAD_DEFAULT,
        .window = live->window,
        .uplink = {.spool_limit = SPOOL_LIMIT, .session_bytes = SESSION_LIMIT}};
    *live->log_level = WP_LOG_INFO;
    *live->window = (struct wp_window){0};
}

void wp_collector_options_parse(struct wp_collector_options *options, const struct wp_collector_live *live,
    struct wp_config **config, int argc, char **argv)
{
    static const char *const flags_only[] = {
        "ready-fd", "command-pid", "recorder-pid", "aggregator-pid", "probe", NULL};
    static const char *const live_keys[] = {"log-level", "match-cmdline", "overhead-limit", "window", NULL};
    static const struct argp argp = {option_table, parse_option, NULL,
        "Records what a host's threads wait for and what runs, and sends it to an aggregator or into a file.", NULL,
        NULL, NULL};
    static const struct wp_config_spec spec = {
        &argp, "collector", "/etc/wakepath/collector.conf", flags_only, live_keys};
    struct parse parse = {options, live};
    set_defaults(options, live);
    argp_err_exit_status = WP_EXIT_USAGE;
    argp_program_version = "wakepath-collector " WP_VERSION;
    wp_config_parse(config, &spec, argc, argv, &parse);
}

bool wp_collector_options_reload(struct wp_collector_options *options, const struct wp_collector_live *live,
    struct wp_config *config, const struct wp_logger *logger)
{
    struct parse parse = {options, live};
    set_defaults(options, live);
    return wp_config_reload(config, &parse, logger);
}
