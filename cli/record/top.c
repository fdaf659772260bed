/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/top.h"

#include "cli/record/record.h"
#include "common/clock.h"
#include "common/nearest.h"

#include <argp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_DELAY (2 * WP_NS_PER_S)
#define DEFAULT_ROWS 20u
#define MOST_ROWS 1000u
#define DEFAULT_FREQUENCY_HZ 997u
#define SELECTOR_BYTES 4096u

enum { KEY_ONCE = 256, KEY_JSON, KEY_DURATION };

static const struct argp_option option_table[] = {
    {"pid", 'p', "PID", 0, "Watch this process, until ^C or its end", 0},
    {"delay", 'd', "TIME", 0, "Time between two looks: seconds, or 500ms, 5s, 1m (2)", 0},
    {"rows", 'n', "N", 0, "Most rows of a look (20)", 0},
    {"once", KEY_ONCE, NULL, 0, "Print the first look that has something, and end", 0},
    {"duration", KEY_DURATION, "TIME", 0, "End after this time (--once: 30s)", 0},
    {"json", KEY_JSON, NULL, 0, "Print each look as a line of JSON", 0},
    {0},
};

struct top {
    struct wp_record_options record;
    char selector[SELECTOR_BYTES], title[SELECTOR_BYTES];
};

static void choose(struct top *top, struct argp_state *state, const char *selector)
{
    if (top->record.aggregate_count)
        argp_error(state, "one thing is watched: '%.100s' is another one", selector);
    if ((size_t)snprintf(top->selector, sizeof(top->selector), "main=%s", selector) >= sizeof(top->selector))
        argp_error(state, "the selector is too long");
    snprintf(top->title, sizeof(top->title), "%s", selector);
    wp_record_options_aggregate(&top->record, state, top->selector);
}

static void choose_pid(struct top *top, struct argp_state *state, const char *text)
{
    char selector[32];
    uint32_t pid = wp_record_options_pid(state, text);
    snprintf(selector, sizeof(selector), "pid=%u", (unsigned)pid);
    choose(top, state, selector);
    top->record.pid = pid;
}

static unsigned rows(struct argp_state *state, const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || !value || value > MOST_ROWS)
        argp_error(state, "--rows takes a number from 1 to %u, not '%.100s'", MOST_ROWS, text);
    return (unsigned)value;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct top *top = state->input;
    switch (key) {
    case 'p':
        choose_pid(top, state, arg);
        return 0;
    case 'd':
        top->record.top.delay_ns = wp_record_options_duration(state, "--delay", arg);
        return 0;
    case 'n':
        top->record.top.rows = rows(state, arg);
        return 0;
    case KEY_ONCE:
        top->record.top.is_once = true;
        return 0;
    case KEY_DURATION:
        top->record.duration_ns = wp_record_options_duration(state, "--duration", arg);
        return 0;
    case KEY_JSON:
        top->record.is_json = true;
        return 0;
    case ARGP_KEY_ARG:
        choose(top, state, arg);
        return 0;
    case ARGP_KEY_END:
        if (!top->record.aggregate_count)
            argp_error(state, "what is to be watched? Give --pid PID, or a selector such as comm=nginx");
        if (top->record.top.is_once && !top->record.duration_ns)
            top->record.duration_ns = 30 * WP_NS_PER_S;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int wp_top_run(int argc, char **argv, struct wp_error *err)
{
    static const struct argp argp = {option_table, parse, "[SELECTOR]",
        "Shows what a running process or service waits for, and who keeps it waiting, anew every two seconds.\v"
        "  wakepath top -p 4711\n"
        "  wakepath top comm=nginx\n"
        "  wakepath top -p 4711 --once --json\n\n"
        "A row is one kind of time: who waits, for whom in the end, what that one does, and where in its program. The "
        "time is that since the last look; a wait shows when it is over. Selectors are those of `wakepath record`. "
        "Nothing is kept.\n"
        "Exit status: 0 all is well, 1 failure or nothing was seen, 64 usage.",
        NULL, NULL, NULL};
    struct top *top = calloc(1, sizeof(*top));
    if (!top)
        return wp_error_set(err, -ENOMEM, "out of memory"), 1;
    top->record = (struct wp_record_options){.release = "live",
        .frequency_hz = DEFAULT_FREQUENCY_HZ,
        .is_quiet = true,
        .top = {.is_on = true, .delay_ns = DEFAULT_DELAY, .rows = DEFAULT_ROWS, .title = top->title}};
    wp_options_check(&argp, argc, argv, true);
    argp_parse(&argp, argc, argv, 0, NULL, top);
    signal(SIGPIPE, SIG_IGN); /* who reads may have enough: what was made is removed then, too */
    int code = wp_record_run(&top->record, stderr, stdout, err);
    wp_record_options_fini(&top->record);
    free(top);
    return code;
}
