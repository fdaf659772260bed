/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cmd/query_options.h"

#include "common/nearest.h"
#include "reporter/cmd/option_values.h"
#include "reporter/code/group.h"
#include "reporter/compare/operand_spec.h"
#include "storage/value/bucket.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    KEY_SINCE = 0x100,
    KEY_UNTIL,
    KEY_HOSTS,
    KEY_FINDINGS,
    KEY_DETACHED,
    KEY_GIT,
    KEY_LEAVE_OUT,
    KEY_ORDER,
    KEY_LEAST,
    KEY_EMPTY
};

#define TOP_DEFAULT 20u
#define TOP_LIMIT 1000000u

static const struct argp_option option_table[] = {
    {"store", 's', "ROOT", 0, "The store to read; may be repeated, several are read as one (wakepath-report/store)", 0},
    {"release", 'r', "ID", 0, "This release, an id or a reference as REV~2; may be repeated (all)", 0},
    {"git", KEY_GIT, "DIR", 0,
        "Releases are named as this repository names their commits: a branch, HEAD, REV~N by ancestry (this folder's)",
        0},
    {"aggregate", 'a', "NAME", 0, "This aggregate (main, else the largest)", 0},
    {"process", 'p', "PATTERN", 0, "Stacks with a process of this name, * and ? as in a shell", 1},
    {"function", 'F', "PATTERN", 0, "Stacks with this function, in that process if one is given too", 1},
    {"host", 'H', "PATTERN", 0, "Stacks with a process on this host", 1},
    {"hosts", KEY_HOSTS, "HOSTS", 0,
        "Only time of processes of interest on these hosts, wherever it passed (patterns, separated by commas; a "
        "leading '!': all but those)",
        1},
    {"category", 'c', "CATEGORY", 0, "Time of this category, as blocking_io; may be repeated", 1},
    {"detached", KEY_DETACHED, NULL, 0, "Work that was started and not waited for, in place of the total", 1},
    {"since", KEY_SINCE, "TIME", 0, "Timeboxes from this time on: seconds since the epoch, or 2026-11-20T22:14 (UTC)",
        1},
    {"until", KEY_UNTIL, "TIME", 0, "Timeboxes up to this time", 1},
    {"leave-out", KEY_LEAVE_OUT, "WHAT=PATTERN", 0,
        "Leave process=NAME, object=PATH or module=FILE out of all stacks: what stood on it counts for who called it; "
        "may be repeated",
        1},
    {"allow-empty", KEY_EMPTY, NULL, 0,
        "Where nothing fits these filters the answer has no rows, and the exit status is 0", 1},
    {"by", 'b', "WHAT", 0, "Sum by process, function, host, category, path, file or line of source (process)", 2},
    {"findings", KEY_FINDINGS, NULL, 0,
        "What was waited for, where and since which release, in the sentences of the pages; no filter applies", 2},
    {"order", KEY_ORDER, "MEASURE", 0,
        "Most first of own, total, run, wait (own time running or not), pieces or each (own time a piece) (own)", 2},
    {"at-least", KEY_LEAST, "LIMIT", 0,
        "Only rows with so much of what they are ordered by: 1% of the total, 10ms, of pieces a number", 2},
    {"top", 'n', "N", 0, "Most rows of each release, 0 for all (20)", 2},
    {"format", 'f', "FORMAT", 0,
        "table, json or csv (table); or, of the categories of all these releases side by side, without a filter: "
        "categories (CSV) or page (HTML with their curves)",
        2},
    {"out", 'o', "FILE", 0, "Write into this file", 2},
    {0},
};

static enum wp_query_format parse_format(struct argp_state *state, const char *text)
{
    static const char *const names[] = {"table", "json", "csv", "categories", "page"};
    for (int i = 0; i < 5; i++)
        if (!strcmp(text, names[i]))
            return (enum wp_query_format)i;
    argp_error(state, "'%s' is not a format: table, json, csv, categories or page", text);
    return WP_QUERY_TABLE;
}

/* Which units fit is seen at the end, when the order is known. */
static void set_limit(const struct argp_state *state, struct wp_query_options *query, const char *text)
{
    struct wp_row_limit limit = wp_option_limit(state, text);
    query->order.least = limit.least;
    query->order.least_percent = limit.percent;
    query->least_has_unit = limit.has_unit;
}

static void add(struct argp_state *state, const char **list, size_t *count, size_t limit, const char *text)
{
    if (*count == limit)
        argp_error(state, "'%s' is one too many: at most %zu", text, limit);
    list[(*count)++] = text;
}

static error_t parse_filter(int key, char *arg, struct argp_state *state, struct wp_query_options *query)
{
    switch (key) {
    case 'p':
        query->filter.process = arg;
        break;
    case 'F':
        query->filter.function = arg;
        break;
    case 'H':
        query->filter.host = arg;
        break;
    case 'c':
        query->filter.categories |= wp_option_category(state, arg);
        break;
    case KEY_LEAVE_OUT:
        wp_option_contour(state, &query->contour, arg);
        break;
    case KEY_HOSTS:
        query->selection.hosts = wp_option_hosts(state, arg);
        break;
    case KEY_SINCE:
        query->selection.since_s = wp_option_time(state, arg);
        break;
    case KEY_UNTIL:
        query->selection.until_s = wp_option_time(state, arg);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static bool has_order(const struct wp_query_options *query)
{
    return query->order.measure || query->order.least || query->order.least_percent > 0;
}

/* Which options exclude each other. */
static void check_whole(struct argp_state *state, const struct wp_query_options *query)
{
    const struct wp_group_order *order = &query->order;
    wp_option_times_end(state, query->selection.since_s, query->selection.until_s);
    bool is_of_categories = query->format >= WP_QUERY_CATEGORIES, is_of_pieces = order->measure == WP_ORDER_PIECES;
    if (query->wants_findings && (query->is_filtered || query->of_detached || has_order(query) || query->contour.count))
        argp_error(state, "--findings are of all that was recorded: no filter but --hosts, --since and --until fits");
    if (query->wants_findings && is_of_categories)
        argp_error(state, "--findings have no --format categories or page: table, json or csv");
    if (is_of_pieces && order->least_percent > 0)
        argp_error(state, "--at-least of pieces is a number: they have no share of the time");
    if (is_of_pieces && query->least_has_unit)
        argp_error(state, "--at-least of pieces is a number: they have no unit of time");
    if (!is_of_pieces && order->least && !query->least_has_unit)
        argp_error(state, "--at-least of a time wants a unit, as 10ms: only pieces (--order pieces) are a number");
    if (query->by >= WP_BY_FILE && (order->measure > WP_ORDER_TOTAL || query->contour.count))
        argp_error(state,
            "source files and lines are no stacks: they have own and total time, and nothing is left out of them");
    if (is_of_categories && (query->is_filtered || query->of_detached || query->by))
        argp_error(state, "categories of whole releases have no filter and no --by");
    if (is_of_categories && has_order(query))
        argp_error(state, "categories of whole releases have no rows to order: no --order and no --at-least");
    if (is_of_categories && query->top_given)
        argp_error(state, "categories of whole releases have all their rows: no --top");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct wp_query_options *query = state->input;
    int found;
    switch (key) {
    case 's':
        add(state, query->stores, &query->store_count, WP_STORES_LIMIT, arg);
        break;
    case 'r':
        if (!wp_named_valid(arg))
            argp_error(
                state, "'%s' is not a valid release: letters, digits and ._+- (1 to 128 of them), or a reference", arg);
        add(state, query->releases, &query->release_count, WP_QUERY_RELEASES, arg);
        break;
    case 'a':
        query->aggregate = wp_option_aggregate(state, arg);
        break;
    case 'b':
        if ((found = wp_group_by_find(arg)) < 0)
            argp_error(state, "'%s' is not a grouping: process, function, host, category, path, file or line", arg);
        query->by = (enum wp_group_by)found;
        break;
    case KEY_ORDER:
        if ((found = wp_group_measure_find(arg)) < 0)
            argp_error(state, "'%s' is not a measure: own, total, run, wait, pieces or each", arg);
        query->order.measure = (enum wp_group_measure)found;
        break;
    case KEY_LEAST:
        set_limit(state, query, arg);
        break;
    case KEY_EMPTY:
        query->allows_empty = true;
        break;
    case KEY_DETACHED:
        query->of_detached = true;
        break;
    case KEY_GIT:
        query->git = arg;
        break;
    case KEY_FINDINGS:
        query->wants_findings = true;
        break;
    case 'n':
        query->top = wp_option_count(state, "number of rows", arg, TOP_LIMIT);
        query->top_given = true;
        break;
    case 'f':
        query->format = parse_format(state, arg);
        break;
    case 'o':
        query->out = arg;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected argument '%s'", arg);
        break;
    case ARGP_KEY_END:
        query->is_filtered =
            query->filter.process || query->filter.function || query->filter.host || query->filter.categories;
        check_whole(state, query);
        wp_option_stores_end(state, query->stores, &query->store_count);
        break;
    default:
        return parse_filter(key, arg, state, query);
    }
    return 0;
}

void wp_query_parse(struct wp_query_options *query, int argc, char **argv)
{
    static const struct argp argp = {option_table, parse, NULL,
        "Sums up where the time of one or several releases went.\v"
        "A stack counts when one process on it has the name, runs on the host and has the function. \"On top\" is what "
        "the row "
        "did or waited for itself, and adds up to what matched; \"In all\" is with all that stood on it. By function, "
        "the time on top is that of the innermost function of a "
        "program's own: what it calls in the C library, a language's runtime and the kernel is its.\n"
        "Exit status: 0 all is well, 1 failure, nothing fits the filters, or a release that could not be read and is "
        "not "
        "in the answer, 64 usage.",
        NULL, NULL, NULL};
    char name[] = "wakepath-reporter query";
    *query = (struct wp_query_options){.top = TOP_DEFAULT};
    argv[0] = name;
    wp_options_check(&argp, argc, argv, false);
    argp_parse(&argp, argc, argv, 0, NULL, query);
}
