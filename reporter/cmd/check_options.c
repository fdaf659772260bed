/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/cmd/check_options.h"

#include "common/nearest.h"
#include "reporter/cmd/option_values.h"
#include "reporter/compare/compare_order.h"
#include "storage/value/bucket.h"

#include <string.h>

enum { KEY_KEEP = 0x300, KEY_CANARY, KEY_SAME, KEY_ORDER, KEY_LEAST };

#define ROWS_LIMIT 1000000u

static const struct argp_option option_table[] = {
    {"aggregate", 'a', "NAME", 0, "This aggregate on both sides (main, else the largest)", 0},
    {"format", 'f', "FORMAT", 0, "text, json, junit, or html: one file of pages with the comparison first (text)", 0},
    {"canary", KEY_CANARY, "HOSTS", 0,
        "Compare these hosts (shell patterns, separated by commas) with all others of NEW, in timeboxes that both have",
        0},
    {"same-time", KEY_SAME, NULL, 0, "Only timeboxes that both sides have", 0},
    {"order", KEY_ORDER, "MEASURE", 0,
        "Most first of sure, difference, percent (both whether more or less), old or new: time for a unit (sure)", 0},
    {"at-least", KEY_LEAST, "LIMIT", 0,
        "Only rows that take so much on either side, 1% of the total or 10ms; what got worse is always there", 0},
    {"top", 'n', "N", 0, "Most rows of each table; what got worse is always there (as many as fit)", 0},
    {"keep", KEY_KEEP, NULL, 0, "Store the result with the newer release, for its pages", 0},
    {0},
};

static int format_parse(const char *name)
{
    static const char *const names[] = {"text", "json", "junit", "html"};
    for (int i = 0; i < 4; i++)
        if (!strcmp(name, names[i]))
            return i;
    return -1;
}

static void set_operand(struct argp_state *state, struct wp_check_options *options, const char *text)
{
    struct wp_error err = {0};
    if (state->arg_num > 1)
        argp_error(state, "two operands are compared, '%s' is a third", text);
    if (state->arg_num) /* what came first is the older one then */
        options->before = options->after;
    else
        options->old_text = text;
    if (wp_operand_parse(&options->after, text, &err))
        argp_error(state, "%s", err.text);
}

static bool has_order(const struct wp_compare_order *rows)
{
    return rows->measure || rows->top || rows->limit.least || rows->limit.percent > 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct wp_check_options *options = state->input;
    int found;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &options->common;
        break;
    case 'a':
        options->aggregate = wp_option_aggregate(state, arg);
        break;
    case 'f':
        if ((found = format_parse(arg)) < 0)
            argp_error(state, "'%s' is not a format: text, json, junit or html", arg);
        options->format = (enum wp_check_format)found;
        break;
    case ARGP_KEY_ARG:
        set_operand(state, options, arg);
        break;
    case KEY_CANARY:
        options->canary = wp_option_canary(state, arg);
        break;
    case KEY_ORDER:
        if ((found = wp_compare_measure_find(arg)) < 0)
            argp_error(state, "'%s' is not a measure: sure, difference, percent, old or new", arg);
        options->rows.measure = (enum wp_compare_measure)found;
        break;
    case KEY_LEAST:
        options->rows.limit = wp_option_limit(state, arg);
        if (options->rows.limit.least && !options->rows.limit.has_unit)
            argp_error(state, "--at-least of a time wants a unit, as 10ms");
        break;
    case 'n':
        options->rows.top = wp_option_count(state, "number of rows", arg, ROWS_LIMIT);
        break;
    case KEY_SAME:
        options->same_time = true;
        break;
    case KEY_KEEP:
        options->keeps = true;
        break;
    case ARGP_KEY_END:
        if (!*options->before.release) /* the one that was named is the newer side */
            options->old_text = NULL;
        if (*options->before.release && *options->canary)
            argp_error(state, "--canary compares hosts of one release: OLD is not asked for");
        if (options->keeps && options->common.contour.count)
            argp_error(state, "--keep stores what holds for the pages: --leave-out does not");
        if (options->keeps && has_order(&options->rows))
            argp_error(state, "--keep stores what holds for the pages: --order, --at-least and --top do not");
        if (*options->before.release && options->common.order.against)
            argp_error(state, "OLD and --against both say what to compare with: give one of them");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

void wp_check_options_parse(struct wp_check_options *options, int argc, char **argv)
{
    static const struct argp_child children[] = {{&wp_common_argp, 0, NULL, 0}, {0}};
    static const struct argp argp = {option_table, parse, "[[OLD] NEW]",
        "Compares two releases and says whether the newer one takes longer.\v"
        "OLD and NEW: RELEASE[~N][:AGGREGATE][@TIMEBOX|@SINCE..UNTIL][/HOSTS]. Without OLD it is the release that NEW "
        "stands on: with --git "
        "the nearest measured ancestor, else the one measured before it. Without NEW it is the newest.\n"
        "Exit status: 0 nothing got worse, 2 something did, 1 failure, 64 usage.",
        children, NULL, NULL};
    char name[] = "wakepath-reporter check";
    memset(options, 0, sizeof(*options));
    options->common.compare = WP_COMPARE_DEFAULTS;
    options->canary = "";
    argv[0] = name;
    wp_options_check(&argp, argc, argv, false);
    argp_parse(&argp, argc, argv, 0, NULL, options);
}
