/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cmd/reporter_options.h"

#include "common/config.h"
#include "common/config_value.h"
#include "reporter/cmd/option_values.h"
#include "reporter/compare/operand_spec.h"
#include "reporter/export/export_table.h"
#include "reporter/export/stack_choice.h"
#include "storage/value/bucket.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define JOBS_LIMIT 256u
#define ROWS_LIMIT 1000000u
#define METRICS_END ".prom"

enum {
    KEY_SINCE = 0x100,
    KEY_UNTIL,
    KEY_NO_WAIT,
    KEY_WAIT,
    KEY_SINGLE,
    KEY_PARTS,
    KEY_GZIP,
    KEY_NO_SYNC,
    KEY_SOURCE_MAP,
    KEY_NO_DISK,
    KEY_SOURCE_DISK,
    KEY_EXEMPLAR,
    KEY_CANARY,
    KEY_HOSTS,
    KEY_METRICS_FILE,
    KEY_OWN_PAGES,
    KEY_SYSTEM,
    KEY_ORDER,
    KEY_LEAST,
    KEY_TOP
};

static const struct argp_option option_table[] = {
    {"out", 'o', "PATH", 0, "Write the whole site into this folder; with --format the one report into this file", 0},
    {"release", 'r', "ID", 0, "Only this release: an id, or a reference as REV~2 or REV:AGGREGATE@TIMEBOX", 0},
    {"aggregate", 'a', "NAME", 0, "Only this aggregate (when printing: main, else the largest)", 0},
    {"format", 'f', "FORMAT", 0,
        "One aggregate as json, text, folded, pprof, speedscope, perfetto, perun, perun-whole, csv or ndjson (html: "
        "the site)",
        0},
    {"table", 't', "TABLE", 0,
        "With csv or ndjson, only report, categories, processes, functions, waits, edges, requests, unexplained, "
        "stacks, lines or calls",
        0},
    {"order", KEY_ORDER, "COLUMN", 0,
        "With --table: rows by this column of numbers, the greatest first; of stacks ns or count", 0},
    {"at-least", KEY_LEAST, "LIMIT", 0,
        "With --order, or of stacks: only rows with so much in that column: 1% of the total, 10ms, else a number", 0},
    {"top", KEY_TOP, "N", 0,
        "With csv or ndjson: at most so many rows of each table; of stacks: the greatest; 0 for all (0)", 0},
    {"exemplar", KEY_EXEMPLAR, "N", 0,
        "With perfetto: export the window of exemplar-N.html instead of the first window", 0},
    {"single-file", KEY_SINGLE, NULL, 0, "Write all pages of one aggregate as one HTML file", 0},
    {"since", KEY_SINCE, "TIME", 0, "From this time on: seconds since the epoch, or 2026-11-20T22:14 (UTC)", 0},
    {"until", KEY_UNTIL, "TIME", 0, "Up to this time", 0},
    {"hosts", KEY_HOSTS, "HOSTS", 0,
        "Only time of processes of interest on these hosts (shell patterns, separated by commas; a leading '!': all "
        "but those)",
        0},
    {"no-wait", KEY_NO_WAIT, NULL, 0, "Fail at once when another reporter is writing the same site, instead of waiting",
        0},
    {"wait", KEY_WAIT, "SECONDS", 0, "Wait this long for another reporter that is writing the same site, then fail", 0},
    {"canary", KEY_CANARY, "HOSTS", 0,
        "Add a page to each aggregate that compares these hosts (shell patterns, separated by commas) with all others",
        0},
    {"jobs", 'j', "N", 0, "Number of processes that make releases (1); 0: one for each CPU", 0},
    {"parts", KEY_PARTS, "DIR", 0,
        "Use the pages that runs of one release each (--release ID --out DIR/ID) have made; make the rest", 0},
    {"gzip", KEY_GZIP, NULL, 0, "Write FILE.gz beside each file of the site, for servers that send precompressed files",
        0},
    {"no-sync", KEY_NO_SYNC, NULL, 0,
        "Do not wait for the site's disk: after a crash of the machine the next run makes all pages again", 0},
    {"own-pages", KEY_OWN_PAGES, NULL, 0,
        "Processes and threads link to pages of their own, as of a recording whose capture is kept (wakepath view)", 0},
    {"system-window", KEY_SYSTEM, "FILE", 0,
        "The Timeline shows all threads of the host, as wakepath-aggregator --system-window has written them; for a "
        "store with one release, or --single-file",
        0},
    {"source-map", KEY_SOURCE_MAP, "PREFIX=DIR", 0,
        "Source files whose path begins with PREFIX are in DIR; may be repeated", 0},
    {"source-disk", KEY_SOURCE_DISK, "DIR", 0,
        "Show source files below DIR on this machine's disk, for releases that only this host has recorded; may be "
        "repeated",
        0},
    {"no-source-disk", KEY_NO_DISK, NULL, 0,
        "Show no source files of this machine's disk, whatever --source-disk names", 0},
    {"metrics-file", KEY_METRICS_FILE, "FILE", 0,
        "Write the metrics of this run, also of a failed one, into this file for node-exporter's textfile collector; "
        "its name must end in .prom",
        0},
    {"quiet", 'q', NULL, 0, "Print nothing when there is no error", 0},
    {0},
};

static unsigned parse_jobs(struct argp_state *state, const char *text)
{
    unsigned jobs = wp_option_count(state, "number of jobs", text, JOBS_LIMIT);
    long processors = jobs ? 0 : sysconf(_SC_NPROCESSORS_ONLN);
    return jobs ? jobs : processors < 1 ? 1 : processors > (long)JOBS_LIMIT ? JOBS_LIMIT : (unsigned)processors;
}

/* A column of a time has its unit in its name. */
static void check_limit(struct argp_state *state, const struct wp_export_choice *tables, bool of_stacks)
{
    const struct wp_row_limit *limit = &tables->limit;
    const char *unit = tables->order ? strrchr(tables->order, '_') : NULL;
    bool is_time = tables->order ? !strcmp(tables->order, "ns") || (unit && !strcmp(unit, "_ns")) : of_stacks;
    if ((limit->least || limit->percent > 0) && !tables->order && !of_stacks)
        argp_error(state, "--at-least is of the column that --order names");
    if (tables->order && !is_time && (limit->has_unit || limit->percent > 0))
        argp_error(state, "--at-least of %s is a number, not a time", tables->order);
    if (is_time && limit->least && !limit->has_unit)
        argp_error(state, "--at-least of a time wants a unit, as 10ms");
}

/* Reports that are whole, and a window that is what happened. */
static void check_rows(struct argp_state *state, const struct wp_reporter_options *options, bool has_rows)
{
    const struct wp_export_choice *tables = &options->tables;
    const char *given = tables->order                      ? "--order"
        : tables->limit.least || tables->limit.percent > 0 ? "--at-least"
        : tables->top                                      ? "--top"
                                                           : NULL;
    if (given && !has_rows)
        argp_error(state,
            "%s is of --format csv, ndjson, folded, pprof, speedscope or perun: other reports have all their rows, and "
            "the command query sums up by any measure",
            given);
}

static void check(struct argp_state *state, struct wp_reporter_options *options)
{
    bool is_table = options->format == WP_FORMAT_CSV || options->format == WP_FORMAT_NDJSON;
    bool is_stacks = wp_format_is_stacks(options->format);
    check_rows(state, options, is_table || is_stacks);
    if (options->is_single && options->format_given && options->format != WP_FORMAT_HTML)
        argp_error(state, "--single-file is html, and another --format was given");
    if (options->tables.table && !is_table)
        argp_error(state, "--table chooses one of the tables of --format csv or ndjson");
    if (is_stacks && !wp_stack_choice_has_measure(options->tables.order))
        argp_error(state, "--order %s: stacks have ns and count", options->tables.order);
    if (options->tables.order && !is_stacks &&
        (!options->tables.table || !wp_export_table_has_number(options->tables.table, options->tables.order)))
        argp_error(
            state, "--order %s: --table chooses a table, and it has no such column of numbers", options->tables.order);
    check_limit(state, &options->tables, is_stacks);
    if (options->exemplar && options->format != WP_FORMAT_PERFETTO)
        argp_error(state, "--exemplar chooses a window of --format perfetto");
    options->prints = options->is_single || (options->format_given && options->format != WP_FORMAT_HTML);
    if (!options->out && !options->prints && !options->format_given && options->common.is_default_store) {
        options->format = WP_FORMAT_TEXT; /* somebody asks what is here */
        options->prints = true;
    }
    bool has_sums = options->prints && !options->is_single && options->format != WP_FORMAT_PERFETTO;
    if (options->common.contour.count && !has_sums)
        argp_error(state, "--leave-out is of a --format with sums: the pages have it behind each figure");
    if (options->system_given && options->prints && !options->is_single)
        argp_error(state, "--system-window is of the pages: of a site, or of --single-file");
    if (!options->out && !options->prints)
        argp_error(state, "give --out DIR for the site, --single-file, or a --format to print");
}

/* Of struct wp_reporter_options. */
#define FIELD(key, kind, field) WP_CONFIG_FIELD(key, kind, struct wp_reporter_options, field)
static const struct wp_config_field fields[] = {
    FIELD('o', WP_CONFIG_TEXT, out),
    FIELD(KEY_PARTS, WP_CONFIG_TEXT, parts),
    FIELD(KEY_SINGLE, WP_CONFIG_FLAG, is_single),
    FIELD(KEY_OWN_PAGES, WP_CONFIG_FLAG, has_own_pages),
    FIELD(KEY_GZIP, WP_CONFIG_FLAG, is_gzipped),
    FIELD(KEY_NO_SYNC, WP_CONFIG_FLAG, is_unsynced),
    FIELD(KEY_NO_DISK, WP_CONFIG_FLAG, source.no_disk),
    FIELD('q', WP_CONFIG_FLAG, quiet),
    {0},
};

static void add_source_map(struct wp_source_options *source, const struct argp_state *state, const char *arg)
{
    if (!strchr(arg, '=') || !strchr(arg, '=')[1])
        argp_error(state, "'%s' is not PREFIX=DIR", arg);
    if (source->map_count == WP_SOURCE_MAPS)
        argp_error(state, "at most %u of --source-map", WP_SOURCE_MAPS);
    source->maps[source->map_count++] = arg;
}

static void add_source_disk(struct wp_source_options *source, const struct argp_state *state, const char *arg)
{
    if (*arg != '/')
        argp_error(state, "'%s' is not a folder's whole path", arg);
    if (source->disk_count == WP_SOURCE_MAPS)
        argp_error(state, "at most %u of --source-disk", WP_SOURCE_MAPS);
    source->disks[source->disk_count++] = arg;
}

static void check_metrics_file(const struct argp_state *state, const char *arg)
{
    if (strlen(arg) <= strlen(METRICS_END) || strcmp(arg + strlen(arg) - strlen(METRICS_END), METRICS_END))
        argp_error(state, "'%s' does not end in " METRICS_END ": node-exporter passes over others", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct wp_reporter_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        break;
    case 'r':
        if (!wp_named_valid(arg))
            argp_error(
                state, "'%s' is not a valid release: letters, digits and ._+- (1 to 128 of them), or a reference", arg);
        options->release = arg;
        break;
    case 'a':
        options->aggregate = wp_option_aggregate(state, arg);
        break;
    case 'f':
        options->format_given = true;
        if (wp_format_parse(arg, &options->format))
            argp_error(state, "'%s' is not a format: %s", arg, WP_FORMAT_NAMES);
        break;
    case 't':
        options->tables.table = wp_export_table_find(arg);
        if (!options->tables.table)
            argp_error(state,
                "'%s' is not a table: report, categories, processes, functions, waits, edges, requests, unexplained, "
                "stacks, lines or calls",
                arg);
        break;
    case KEY_ORDER:
        options->tables.order = arg;
        break;
    case KEY_LEAST:
        options->tables.limit = wp_option_limit(state, arg);
        break;
    case KEY_TOP:
        options->tables.top = wp_option_count(state, "number of rows", arg, ROWS_LIMIT);
        break;
    case KEY_EXEMPLAR:
        options->exemplar = wp_option_count(state, "number of an exemplar", arg, 1000000);
        if (!options->exemplar)
            argp_error(state, "exemplars are counted from 1");
        break;
    case KEY_SINCE:
        options->selection.since_s = wp_option_time(state, arg);
        break;
    case KEY_UNTIL:
        options->selection.until_s = wp_option_time(state, arg);
        break;
    case KEY_HOSTS:
        options->selection.hosts = wp_option_hosts(state, arg);
        break;
    case KEY_NO_WAIT:
        options->wait_s = 0;
        break;
    case KEY_WAIT:
        options->wait_s = (int)wp_option_count(state, "number of seconds", arg, 86400);
        break;
    case 'j':
        options->jobs = parse_jobs(state, arg);
        break;
    case KEY_CANARY:
        options->canary = wp_option_canary(state, arg);
        break;
    case KEY_SOURCE_MAP:
        add_source_map(&options->source, state, arg);
        break;
    case KEY_SOURCE_DISK:
        add_source_disk(&options->source, state, arg);
        break;
    case KEY_SYSTEM: /* a file's is for the runs of it that make pages */
        options->system_window = arg;
        options->system_given |= state->next > state->argc - options->own_words;
        break;
    case KEY_METRICS_FILE:
        check_metrics_file(state, arg);
        options->metrics_file = arg;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", arg);
        break;
    case ARGP_KEY_END:
        wp_option_times_end(state, options->selection.since_s, options->selection.until_s);
        check(state, options);
        break;
    default:
        return wp_config_put(fields, options, state, key, arg) ? 0 : ARGP_ERR_UNKNOWN;
    }
    return 0;
}

void wp_reporter_options_parse(struct wp_reporter_options *options, int argc, char **argv)
{
    static const struct argp_child children[] = {{&wp_common_argp, 0, NULL, 0}, {0}};
    /* No file by itself: a person who prints a report does not mean the timer's site. The timer names its file. */
    static const struct argp argp = {option_table, parse, NULL,
        "Makes pages from a store: where the time went, and who was being waited for.\v"
        "Commands, each with its own --help:\n"
        "  check   Compare two releases for a script\n"
        "  query   Sum up the time that matches a query\n"
        "Exit status: 0 all is well (damaged values are marked on the pages), 1 failure, or a release of which nothing "
        "could be read, 64 usage.",
        children, NULL, NULL};
    static const struct wp_config_spec spec = {&argp, "reporter", NULL, NULL, NULL};
    memset(options, 0, sizeof(*options));
    options->common.compare = WP_COMPARE_DEFAULTS;
    options->wait_s = -1;
    options->jobs = 1;
    options->own_words = argc - 1;
    wp_config_parse(&options->config, &spec, argc, argv, options);
}
