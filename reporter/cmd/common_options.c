/* SPDX-License-Identifier: Apache-2.0 */
/* Options that reporting and checking share. */
#include "reporter/cmd/common_options.h"

#include "reporter/cmd/option_values.h"
#include "reporter/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KEY_GIT = 0x200, KEY_AGAINST, KEY_PER, KEY_ALPHA, KEY_THRESHOLD, KEY_IGNORE, KEY_METHOD, KEY_LEAVE_OUT };

static const struct argp_option option_table[] = {
    {"store", 's', "ROOT", 0, "The store to read; given again, several are read as one (wakepath-report/store)", 0},
    {"git", KEY_GIT, "DIR", 0,
        "Order releases by this repository's history (a work tree or a bare clone); else by time", 1},
    {"against", KEY_AGAINST, "REF", 0,
        "Compare with this release, or with the newest measured one at this branch or commit", 1},
    {"per", KEY_PER, "UNIT", 0,
        "Compare time by wall (a second), activity (a second of its own running), recording, work (what a service "
        "does in a second) or request; default: recording where both are of recorded commands, work where each has "
        "two recordings or more, request where each served a port a hundred times, else wall",
        1},
    {"alpha", KEY_ALPHA, "P", 0, "Probability of a false alarm in a comparison (0.01)", 1},
    {"method", KEY_METHOD, "NAME", 0,
        "Method that finds changes: t-test (the default), average-amount, best-model, integral, local-statistics or "
        "exclusive-time-outliers",
        1},
    {"threshold", KEY_THRESHOLD, "PERCENT", 0, "Smallest change that gets a verdict (3; other methods: see the manual)",
        1},
    {"leave-out", KEY_LEAVE_OUT, "WHAT=PATTERN", 0,
        "Leave process=NAME, object=PATH or module=FILE out of all stacks: what stood on it counts for who called it; "
        "may be repeated",
        1},
    {"ignore", KEY_IGNORE, "CATEGORY", 0,
        "Show this category without judging it, such as remote_not_traced where load varies", 1},
    {0},
};

static double parse_number(struct argp_state *state, const char *what, const char *text, double low, double high)
{
    char *end = NULL;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || *end || errno || !isfinite(value) || value < low || value > high)
        argp_error(state, "'%s' is not a valid %s: a number from %g to %g", text, what, low, high);
    return value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct wp_common_options *options = state->input;
    int found;
    switch (key) {
    case 's':
        wp_option_store(state, options->stores, &options->store_count, arg);
        break;
    case KEY_GIT:
        options->order.git = arg;
        break;
    case KEY_AGAINST:
        options->order.against = arg;
        break;
    case KEY_PER:
        if ((found = wp_per_find(arg)) < 0)
            argp_error(state, "'%s' is not a unit: wall, activity, recording, work or request", arg);
        options->compare.per = (enum wp_per)found;
        break;
    case KEY_ALPHA:
        options->compare.alpha = parse_number(state, "chance", arg, 1e-12, 0.5);
        break;
    case KEY_THRESHOLD:
        options->compare.threshold_percent = parse_number(state, "threshold", arg, 0, 1e6);
        options->threshold_given = true;
        break;
    case KEY_METHOD:
        if ((found = wp_method_find(arg)) < 0)
            argp_error(state,
                "'%s' is not a method: t-test, average-amount, best-model, integral, local-statistics or "
                "exclusive-time-outliers",
                arg);
        options->compare.method = (enum wp_method)found;
        break;
    case KEY_LEAVE_OUT:
        wp_option_contour(state, &options->contour, arg);
        break;
    case KEY_IGNORE:
        options->compare.ignored |= wp_option_category(state, arg);
        break;
    case ARGP_KEY_END:
        options->is_default_store = wp_option_stores_end(state, options->stores, &options->store_count);
        if (!options->threshold_given)
            options->compare.threshold_percent = wp_method_threshold(options->compare.method);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

const struct argp wp_common_argp = {option_table, parse, NULL, NULL, NULL, NULL, NULL};
