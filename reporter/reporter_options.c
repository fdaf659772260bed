/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/reporter_options.h"

#include "common/config.h"
#include "common/path.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEY_SINCE = 0x100, KEY_UNTIL, KEY_NO_WAIT };

static const struct argp_option option_table[] = {
    {"store", 's', "ROOT", 0, "The store to read", 0},
    {"out", 'o', "DIR", 0, "Write the whole site into DIR", 0},
    {"release", 'r', "ID", 0, "Only this release", 0},
    {"aggregate", 'a', "NAME", 0, "Only this aggregate (when printing: main, else the largest)", 0},
    {"format", 'f', "FORMAT", 0, "Print one aggregate as json, text or folded stacks; html is the site", 0},
    {"since", KEY_SINCE, "TIME", 0, "From this time on: seconds since the epoch, or 2026-11-20T22:14 (UTC)", 0},
    {"until", KEY_UNTIL, "TIME", 0, "Up to this time", 0},
    {"no-wait", KEY_NO_WAIT, NULL, 0, "Fail when another reporter is writing the same site; else wait for it", 0},
    {"quiet", 'q', NULL, 0, "Say nothing when all is well", 0},
    {0},
};

int wp_reporter_time_parse(const char *text, uint64_t *seconds)
{
    static const char *const formats[] = {"%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M", "%Y-%m-%d"};
    char *end = NULL;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno) {
        *seconds = number;
        return 0;
    }
    for (size_t i = 0; i < sizeof(formats) / sizeof(*formats); i++) {
        struct tm tm = {0};
        const char *rest = strptime(text, formats[i], &tm);
        time_t time = rest && !*rest ? timegm(&tm) : -1;
        if (time >= 0) {
            *seconds = (uint64_t)time;
            return 0;
        }
    }
    return -EINVAL;
}

static void parse_time(struct argp_state *state, const char *text, uint64_t *seconds)
{
    if (wp_reporter_time_parse(text, seconds))
        argp_error(state, "'%s' is not a time: give seconds since the epoch or 2026-11-20T22:14 (UTC)", text);
}

static void parse_id(struct argp_state *state, const char *what, const char *text, const char **id)
{
    if (!wp_id_valid(text))
        argp_error(state, "'%s' is not a valid %s: letters, digits and ._+- (1 to 128 of them)", text, what);
    *id = text;
}

static void check(struct argp_state *state, const struct wp_reporter_options *options)
{
    bool prints = options->format_given && options->format != WP_FORMAT_HTML;
    if (!options->store)
        argp_error(state, "give the store to read with --store ROOT");
    if (!options->out && !prints)
        argp_error(state, "give --out DIR for the site, or --format json, text or folded to print");
    if (options->out && prints)
        argp_error(state, "--out writes the site and --format prints one aggregate: give one of them");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct wp_reporter_options *options = state->input;
    switch (key) {
    case 's':
        if (options->store)
            argp_error(state, "one --store at a time");
        options->store = arg;
        break;
    case 'o':
        options->out = arg;
        break;
    case 'r':
        parse_id(state, "release", arg, &options->release);
        break;
    case 'a':
        parse_id(state, "aggregate", arg, &options->aggregate);
        break;
    case 'f':
        options->format_given = true;
        if (wp_format_parse(arg, &options->format))
            argp_error(state, "'%s' is not a format: html, json, text or folded", arg);
        break;
    case KEY_SINCE:
        parse_time(state, arg, &options->selection.since_s);
        break;
    case KEY_UNTIL:
        parse_time(state, arg, &options->selection.until_s);
        break;
    case KEY_NO_WAIT:
        options->no_wait = true;
        break;
    case 'q':
        options->quiet = true;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", arg);
        break;
    case ARGP_KEY_END:
        check(state, options);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

void wp_reporter_options_parse(struct wp_reporter_options *options, int argc, char **argv)
{
    /* No file by itself: a person who prints a report does not mean the timer's site. The timer names its file. */
    static const struct wp_config_spec spec = {"reporter", NULL, NULL};
    static const struct argp argp = {option_table, parse, NULL,
        "Makes pages from a store: where the time went, and who was being waited for.\v"
        "Exit status: 0 all is well (damaged values are marked on the pages), 1 failure, 64 usage.",
        NULL, NULL, NULL};
    memset(options, 0, sizeof(*options));
    wp_config_parse(&options->config, &spec, &argp, argc, argv, options);
}
