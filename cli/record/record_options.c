/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record_options.h"

#include "common/clock.h"
#include "common/nearest.h"
#include "common/path.h"
#include "common/selector.h"
#include "common/utf8.h"
#include "common/version.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_HOST_SECONDS 10u
#define WORKLOAD_BYTES 200u
#define DEFAULT_FREQUENCY_HZ 997u /* a prime: it does not beat with what programs do every millisecond */

enum { KEY_CAPTURE = 256, KEY_JSON, KEY_THREADS, KEY_OPEN, KEY_WORKLOAD, KEY_NO_COMMAND, KEY_NO_CAPTURE };

static const struct argp_option option_table[] = {
    {"out", 'o', "DIR", 0, "Folder of the report (default: wakepath-report)", 0},
    {"store", 's', "ROOT", 0, "Store to add the recording to (default: a new one in DIR/store)", 0},
    {"release", 'r', "ID", 0, "Release of the recording (default: `git describe` of this folder, else unversioned)", 0},
    {"aggregate", 'a', "NAME=SELECTOR", 0, "Report on the processes that the selector picks; may be repeated", 0},
    {"pid", 'p', "PID", 0,
        "Attach: record this process, which runs already, and what it waits for, until ^C, its end or --duration", 0},
    {"threads", KEY_THREADS, NULL, 0,
        "Report on all threads of CMD, each a path of its own, instead of the progress of its main thread", 0},
    {"workload", KEY_WORKLOAD, "NAME", 0,
        "What CMD works on; recordings of other workloads, as of other commands, are reports of their own", 0},
    {"no-command-line", KEY_NO_COMMAND, NULL, 0,
        "Keep the words of CMD out of the store; recordings of different commands are then summed", 0},
    {"duration", 'd', "TIME", 0,
        "Stop recording after this time: seconds, or 500ms, 30s, 5m, 1h (without CMD or --pid: 10)", 0},
    {"frequency", 'F', "HZ", 0, "Samples a second on each CPU, 0 for none (default: 997)", 0},
    {"keep-capture", KEY_CAPTURE, "FILE", 0, "Keep the recorded events in FILE, for replays", 0},
    {"no-capture", KEY_NO_CAPTURE, NULL, 0,
        "Do not keep the events in the store's folder, where `wakepath view` makes any process' own pages of them", 0},
    {"open", KEY_OPEN, NULL, 0, "Open the page in a browser: $BROWSER, else the desktop's", 0},
    {"quiet", 'q', NULL, 0, "Print nothing when there is no error", 0},
    {"verbose", 'v', NULL, 0, "Print the logs of collector, aggregator and reporter", 0},
    {"json", KEY_JSON, NULL, 0, "Print the summary as JSON on standard output", 0},
    {0},
};

static double number(struct argp_state *state, const char *what, const char *text, double low, double high)
{
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !isfinite(value) || value < low || value > high)
        argp_error(state, "%s takes a number from %g to %g, not '%.100s'", what, low, high, text);
    return value;
}

static uint64_t whole_number(struct argp_state *state, const char *what, const char *text, uint64_t low, uint64_t high)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || value < low || value > high)
        argp_error(state, "%s takes a whole number from %llu to %llu, not '%.100s'", what, (unsigned long long)low,
            (unsigned long long)high, text);
    return value;
}

/* It stands on pages, in tables and on terminals. */
static const char *workload(struct argp_state *state, const char *text)
{
    if (!wp_utf8_is_plain(text, WORKLOAD_BYTES))
        argp_error(state, "--workload takes a name of 1 to %u bytes without control characters", WORKLOAD_BYTES);
    return text;
}

static void keep_patterns(struct wp_record_options *options, struct argp_state *state, struct wp_selector *selector)
{
    for (unsigned i = 0; i < selector->count; i++) {
        struct wp_selector_term *term = &selector->terms[i];
        if (term->field != WP_SELECT_CMDLINE)
            continue;
        if (options->pattern_count == WP_RECORD_PATTERNS)
            argp_error(state, "more than %u cmdline~ terms", WP_RECORD_PATTERNS);
        options->patterns[options->pattern_count++] = term->text;
        term->text = NULL;
    }
}

void wp_record_options_aggregate(struct wp_record_options *options, struct argp_state *state, const char *text)
{
    char name[WP_ID_ROOM];
    struct wp_selector selector;
    struct wp_error err = {0};
    size_t size = strcspn(text, "=");
    if (!text[size] || !size || size >= sizeof(name))
        argp_error(state, "--aggregate takes NAME=SELECTOR, not '%.200s'", text);
    snprintf(name, sizeof(name), "%.*s", (int)size, text);
    if (!wp_id_valid(name) || !strncmp(name, "__", 2))
        argp_error(state, "'%s' cannot name an aggregate: use letters, digits and ._+-", name);
    if (options->aggregate_count == WP_RECORD_AGGREGATES)
        argp_error(state, "more than %u aggregates", WP_RECORD_AGGREGATES);
    for (unsigned i = 0; i < options->aggregate_count; i++)
        if (!strncmp(options->aggregates[i], text, size + 1))
            argp_error(state, "two aggregates are named '%s'", name);
    if (wp_selector_parse(&selector, text + size + 1, &err)) {
        if (!wp_selector_parse(&selector, text, NULL))
            argp_error(state, "--aggregate takes NAME=SELECTOR: '%.200s' is a selector without a name", text);
        argp_error(state, "%s", err.text);
    }
    keep_patterns(options, state, &selector);
    wp_selector_fini(&selector);
    options->aggregates[options->aggregate_count++] = text;
}

/* Seconds, or a number with its unit. */
uint64_t wp_record_options_duration(struct argp_state *state, const char *what, const char *text)
{
    static const struct {
        const char *unit;
        double seconds;
    } units[] = {{"", 1}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}};
    char *end;
    double value = strtod(text, &end);
    for (size_t i = 0; i < sizeof(units) / sizeof(*units) && end != text; i++)
        if (!strcmp(end, units[i].unit) && value * units[i].seconds >= 0.01 && value * units[i].seconds <= 86400)
            return (uint64_t)(value * units[i].seconds * 1e9);
    argp_error(state, "%s takes a time from 10ms to 24h, as 30s, 5m or a number of seconds, not '%.100s'", what, text);
    return 0;
}

uint32_t wp_record_options_pid(struct argp_state *state, const char *text)
{
    return (uint32_t)whole_number(state, "--pid", text, 1, 4194304);
}

/* "main" is the command or the process, unless the user says what main is. */
static void finish(struct wp_record_options *options, struct argp_state *state)
{
    bool has_main = false;
    for (unsigned i = 0; i < options->aggregate_count; i++)
        has_main |= !strncmp(options->aggregates[i], "main=", 5);
    if (options->command && options->pid)
        argp_error(state, "--pid attaches to what runs already: it takes no CMD");
    if (options->command && !has_main)
        wp_record_options_aggregate(options, state, options->by_threads ? "main=command,threads" : "main=command");
    if (options->pid && !has_main) {
        snprintf(options->by_pid, sizeof(options->by_pid), "main=pid=%u%s", (unsigned)options->pid,
            options->by_threads ? ",threads" : "");
        wp_record_options_aggregate(options, state, options->by_pid);
    }
    if (!options->command && !options->pid && !options->duration_ns)
        options->duration_ns = DEFAULT_HOST_SECONDS * WP_NS_PER_S;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct wp_record_options *options = state->input;
    switch (key) {
    case 'o':
        options->out = arg;
        break;
    case 's':
        options->store = arg;
        break;
    case 'r':
        if (!wp_id_valid(arg))
            argp_error(state, "'%.200s' is not a release id: letters, digits and ._+-, 1 to 128 of them", arg);
        options->release = arg;
        break;
    case 'a':
        wp_record_options_aggregate(options, state, arg);
        break;
    case 'd':
        options->duration_ns = wp_record_options_duration(state, "--duration", arg);
        break;
    case 'p':
        if (options->pid)
            argp_error(state, "--pid attaches to one process; --aggregate NAME=pid=N reports on more");
        options->pid = wp_record_options_pid(state, arg);
        break;
    case 'F':
        options->frequency_hz = (unsigned)number(state, "--frequency", arg, 0, 20000);
        break;
    case KEY_NO_CAPTURE:
        options->has_no_capture = true;
        break;
    case KEY_CAPTURE:
        options->capture = arg;
        break;
    case 'q':
        options->is_quiet = true;
        break;
    case 'v':
        options->is_verbose = true;
        break;
    case KEY_WORKLOAD:
        options->workload = workload(state, arg);
        break;
    case KEY_NO_COMMAND:
        options->has_no_line = true;
        break;
    case KEY_THREADS:
        options->by_threads = true;
        break;
    case KEY_OPEN:
        options->is_opened = true;
        break;
    case KEY_JSON:
        options->is_json = true;
        break;
    case ARGP_KEY_NO_ARGS:
        if (!strcmp(state->argv[state->argc - 1], "--"))
            argp_error(state, "no command: give one behind --");
        break;
    case ARGP_KEY_ARGS:
        options->command = state->argv + state->next;
        break;
    case ARGP_KEY_SUCCESS:
        finish(options, state);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

void wp_record_options_parse(struct wp_record_options *options, int argc, char **argv)
{
    static const struct argp argp = {option_table, parse, "[-- CMD [ARG...]]",
        "Runs CMD, attaches to a process, or watches the whole host for a while, and shows where the time went and who "
        "was being waited for.\v"
        "  wakepath record -- make -j2\n"
        "  wakepath record -p 4711 --duration 30s\n"
        "  wakepath record -a web=comm=nginx -d 1m\n\n"
        "CMD's output, signals and exit status pass through. Ctrl-C reaches CMD, and the report covers what ran "
        "until then; a second one within two seconds abandons the recording.\n"
        "Selectors: comm=NAME, exe=PATH, cgroup=PATH, unit=NAME, container=ID, pod=UID, namespace=NAME, pid=N, "
        "cmdline~REGEX, "
        "command, thread=NAME, tid=N; ',' means and; progress, busy and threads say whose time the total is.\n"
        "Exit status: CMD's (126: not executable, 127: not found), else 0 all is well, 1 failure, 64 usage.",
        NULL, NULL, NULL};
    *options = (struct wp_record_options){.out = "wakepath-report", .frequency_hz = DEFAULT_FREQUENCY_HZ};
    wp_options_check(&argp, argc, argv, true);
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, options);
}

void wp_record_options_fini(struct wp_record_options *options)
{
    for (unsigned i = 0; i < options->pattern_count; i++)
        free(options->patterns[i]);
}
