/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/measure/measure_options.h"

#include "common/config_file.h"
#include "common/nearest.h"
#include "common/path.h"
#include "common/version.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_REPEATS 5u
#define MOST_REPEATS 1000u
#define BAD_VALUE 300 /* bytes of a value that are told */

enum { KEY_MATRIX = 256, KEY_JSON, KEY_DRY, KEY_GOOD, KEY_BAD, KEY_HOP };

static const struct argp_option matrix_keys[] = {
    {"commits", 'r', "RANGE", 0, "Commits to measure: A..B, HEAD~5.., or one; may be repeated", 0},
    {"tags", 't', "PATTERN", 0, "The commits of the tags that fit, as v1.*", 0},
    {"build", 'b', "COMMAND", 0, "Shell command that builds a commit, run in its work tree (default: none)", 0},
    {"command", 'c', "NAME=COMMAND", 0, "Shell command to record, run in the work tree; may be repeated", 0},
    {"workload", 'w', "NAME=ARGUMENTS", 0, "Words behind each command; may be repeated", 0},
    {"repeat", 'n', "N", 0, "Recordings of each commit, command and workload (5)", 0},
    {0},
};

static const struct argp_option measure_keys[] = {
    {"matrix", KEY_MATRIX, "FILE", 0, "Read `key = value` lines of the options above from FILE", 1},
    {"out", 'o', "DIR", 0, "Folder of work trees, store and log (default: wakepath-measure)", 1},
    {"git", 'C', "DIR", 0, "The repository (default: this folder's)", 1},
    {"dry-run", KEY_DRY, NULL, 0, "Print what would be measured, and end", 1},
    {"json", KEY_JSON, NULL, 0, "Print the result as JSON on standard output", 1},
    {"quiet", 'q', NULL, 0, "Print no progress", 1},
    {0},
};

static const struct argp_option bisect_keys[] = {
    {"good", KEY_GOOD, "COMMIT", 0, "A commit that does not take longer yet", 0},
    {"bad", KEY_BAD, "COMMIT", 0, "A descendant that takes longer (default: HEAD)", 0},
    {"hop", KEY_HOP, "SELECTOR", 0,
        "Search for what makes this longer, not the wall time: process=NAME, function=NAME, category=NAME, host=NAME, "
        "separated by commas",
        0},
    {"build", 'b', "COMMAND", 0, "Shell command that builds a commit, run in its work tree (default: none)", 0},
    {"command", 'c', "COMMAND", 0, "Shell command to record, in place of CMD", 0},
    {"repeat", 'n', "N", 0, "Recordings of a commit to begin with (5); where they leave a doubt there are more", 0},
    {"out", 'o', "DIR", 0, "Folder of work trees, store and log (default: wakepath-bisect)", 0},
    {"git", 'C', "DIR", 0, "The repository (default: this folder's)", 0},
    {"json", KEY_JSON, NULL, 0, "Print the result as JSON on standard output", 0},
    {"quiet", 'q', NULL, 0, "Print no progress", 0},
    {0},
};

static int keep_text(struct wp_measure_options *options, const char *value, const char **text, struct wp_error *err)
{
    wp_args_add(&options->texts, value);
    if (options->texts.failed)
        return wp_error_set(err, -ENOMEM, "out of memory for the options");
    *text = options->texts.items[options->texts.count - 1];
    return 0;
}

static int keep_row(struct wp_args *rows, const char *value, struct wp_error *err)
{
    wp_args_add(rows, value);
    return rows->failed ? wp_error_set(err, -ENOMEM, "out of memory for the options") : 0;
}

/* "NAME=TEXT", with a NAME that can be a folder's. */
static int keep_named(struct wp_args *rows, const char *what, const char *value, struct wp_error *err)
{
    char name[WP_ID_ROOM];
    size_t size = strcspn(value, "=");
    snprintf(name, sizeof(name), "%.*s", (int)(size < sizeof(name) ? size : 0), value);
    if (!value[size] || !value[size + 1] || !wp_id_valid(name) || !strncmp(name, "__", 2) || !strcmp(name, "-"))
        return wp_error_set(err, -EINVAL, "a %s is NAME=TEXT, with letters, digits and ._+- in NAME, not '%.*s'", what,
            BAD_VALUE, value);
    return keep_row(rows, value, err);
}

static int set_repeats(struct wp_measure_options *options, const char *value, struct wp_error *err)
{
    char *end;
    unsigned long number = strtoul(value, &end, 10);
    if (*value < '0' || *value > '9' || *end || !number || number > MOST_REPEATS)
        return wp_error_set(
            err, -EINVAL, "repeat takes a number from 1 to %u, not '%.*s'", MOST_REPEATS, BAD_VALUE, value);
    options->repeats = (uint32_t)number;
    return 0;
}

/* "process=NAME,function=NAME": words for `wakepath query`. */
static int set_hop(struct wp_measure_options *options, const char *value, struct wp_error *err)
{
    static const char *const fields[] = {"process", "function", "category", "host"};
    char text[4096], *rest = text;
    if ((size_t)snprintf(text, sizeof(text), "%s", value) >= sizeof(text))
        return wp_error_set(err, -EINVAL, "--hop is too long");
    for (char *term; (term = strsep(&rest, ","));) {
        size_t size = strcspn(term, "="), i = 0;
        while (i < 4 && (strlen(fields[i]) != size || strncmp(fields[i], term, size)))
            i++;
        if (i == 4 || !term[size] || !term[size + 1])
            return wp_error_set(err, -EINVAL,
                "--hop takes process=, function=, category= or host= and a name, not '%.*s'", BAD_VALUE, term);
        wp_args_addf(&options->filter, "--%s", term);
    }
    return options->filter.failed ? wp_error_set(err, -ENOMEM, "out of memory for the options") : 0;
}

/* An option, of the command line or of a file. */
static int apply(struct wp_measure_options *options, int key, const char *value, struct wp_error *err)
{
    switch (key) {
    case 'r':
        return keep_row(&options->ranges, value, err);
    case 't':
        return keep_text(options, value, &options->tags, err);
    case 'b':
        return keep_text(options, value, &options->build, err);
    case 'c':
        return options->bad ? keep_row(&options->commands, value, err)
                            : keep_named(&options->commands, "command", value, err);
    case 'w':
        return keep_named(&options->workloads, "workload", value, err);
    case 'n':
        return set_repeats(options, value, err);
    case KEY_HOP:
        return set_hop(options, value, err);
    default:
        return -ENOENT;
    }
}

static int take_value(
    void *context, const struct argp_option *option, const char *value, unsigned line, struct wp_error *err)
{
    (void)line;
    return apply(context, option->key, value, err);
}

static int read_matrix(struct wp_measure_options *options, const char *path, struct wp_error *err)
{
    struct wp_buffer text = {0};
    int rc = wp_file_read(path, WP_CONFIG_FILE_LIMIT, &text, err);
    if (!rc && wp_buffer_putc(&text, 0))
        rc = wp_error_set(err, -ENOMEM, "out of memory for '%s'", path);
    if (!rc)
        rc = wp_config_file_parse(
            path, (const char *)text.data, matrix_keys, &(struct wp_config_taker){take_value, options}, err);
    wp_buffer_fini(&text);
    return rc;
}

static void apply_argument(struct wp_measure_options *options, int key, const char *value, struct argp_state *state)
{
    struct wp_error err = {0};
    int rc = key == KEY_MATRIX ? read_matrix(options, value, &err) : apply(options, key, value, &err);
    if (rc)
        argp_error(state, "%s", err.text);
}

static void check(struct wp_measure_options *options, struct argp_state *state)
{
    bool is_bisect = options->bad != NULL;
    if (!options->command && !options->commands.count)
        argp_error(state, "no command: give one behind --, or --command");
    if (options->command && options->commands.count)
        argp_error(state, "give --command or a command behind --, not both");
    if (is_bisect && options->commands.count > 1)
        argp_error(state, "one command is searched by");
    if (is_bisect && !options->good)
        argp_error(state, "--good is missing: a commit that does not take longer yet");
    if (is_bisect && (options->repeats < 2 || options->repeats > WP_BISECT_RECORDINGS))
        argp_error(state, "--repeat takes a number from 2 to %u", WP_BISECT_RECORDINGS);
    if (!is_bisect && !options->ranges.count && !options->tags)
        argp_error(state, "no commits: give a range such as HEAD~5.., or --tags");
}

/* What a matrix's file may say, too. */
static error_t parse_matrix(int key, char *arg, struct argp_state *state)
{
    switch (key) {
    case 'r':
    case 't':
    case 'b':
    case 'c':
    case 'w':
    case 'n':
        apply_argument(state->input, key, arg, state);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static void parse_word(struct wp_measure_options *options, char *arg, struct argp_state *state)
{
    if (state->quoted && state->next > state->quoted) {
        options->command = state->argv + state->next - 1;
        state->next = state->argc;
    } else if (options->bad) {
        argp_error(state, "'%.100s'? The command stands behind --", arg);
    } else {
        apply_argument(options, 'r', arg, state);
    }
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct wp_measure_options *options = state->input;
    switch (key) {
    case ARGP_KEY_INIT:
        if (!options->bad)
            state->child_inputs[0] = options;
        return 0;
    case 'o':
        options->out = arg;
        return 0;
    case 'C':
        options->repository = arg;
        return 0;
    case 'q':
        options->is_quiet = true;
        return 0;
    case KEY_JSON:
        options->is_json = true;
        return 0;
    case KEY_DRY:
        options->is_dry = true;
        return 0;
    case KEY_GOOD:
        options->good = arg;
        return 0;
    case KEY_BAD:
        options->bad = arg;
        return 0;
    case ARGP_KEY_ARG:
        parse_word(options, arg, state);
        return 0;
    case ARGP_KEY_SUCCESS:
        check(options, state);
        return 0;
    case KEY_HOP:
    case KEY_MATRIX:
        apply_argument(options, key, arg, state);
        return 0;
    default:
        return options->bad ? parse_matrix(key, arg, state) : ARGP_ERR_UNKNOWN;
    }
}

/* The words of a cell: CMD as it is, or with a shell that reads its workload, or a shell command. */
static void make_line(
    const struct wp_measure_options *options, struct wp_args *line, const char *command, const char *words)
{
    bool has_shell = !options->command || *words;
    if (has_shell) {
        wp_args_add(line, "/bin/sh");
        wp_args_add(line, "-c");
        if (options->command)
            wp_args_addf(line, "exec \"$@\" %s", words);
        else
            wp_args_addf(line, "%s%s%s", command, *words ? " " : "", words);
        wp_args_add(line, "sh");
    }
    for (size_t i = 0; options->command && options->command[i]; i++)
        wp_args_add(line, options->command[i]);
}

/* One command ("NAME=COMMAND" of a matrix) with one workload; "" where there is none. */
static int add_cell(struct wp_measure_options *options, const char *command, const char *workload, struct wp_error *err)
{
    if (options->cell_count == WP_MEASURE_CELLS)
        return wp_error_set(err, -E2BIG, "more than %u commands and workloads", WP_MEASURE_CELLS);
    struct wp_args *line = &options->lines[options->cell_count];
    struct wp_measure_cell *cell = &options->cells[options->cell_count++];
    bool is_named = *command && !options->bad;
    size_t command_name = is_named ? strcspn(command, "=") : 0, workload_name = strcspn(workload, "=");
    make_line(options, line, command + command_name + is_named, workload + workload_name + (*workload != 0));
    int size = snprintf(cell->name, sizeof(cell->name), "%.*s%s%.*s", (int)command_name, command,
        command_name && *workload ? "-" : "", (int)workload_name, workload);
    if (!size)
        snprintf(cell->name, sizeof(cell->name), "main");
    cell->argv = line->items;
    if (line->failed)
        return wp_error_set(err, -ENOMEM, "out of memory for the options");
    return size < (int)sizeof(cell->name) ? 0
                                          : wp_error_set(err, -ENAMETOOLONG, "the name '%s' is too long", cell->name);
}

static int make_cells(struct wp_measure_options *options, struct wp_error *err)
{
    int rc = 0;
    size_t commands = options->command ? 1 : options->commands.count;
    for (size_t i = 0; !rc && i < commands; i++) {
        const char *command = options->command ? "" : options->commands.items[i];
        for (size_t k = 0; !rc && k < options->workloads.count; k++)
            rc = add_cell(options, command, options->workloads.items[k], err);
        if (!rc && !options->workloads.count)
            rc = add_cell(options, command, "", err);
    }
    for (uint32_t i = 0; !rc && i < options->cell_count; i++)
        for (uint32_t k = 0; !rc && k < i; k++)
            if (!strcmp(options->cells[i].name, options->cells[k].name))
                rc = wp_error_set(err, -EINVAL, "two things to measure are named '%s'", options->cells[i].name);
    return rc;
}

int wp_measure_options_parse(struct wp_measure_options *options, int argc, char **argv, struct wp_error *err)
{
    static const struct argp matrix = {matrix_keys, parse_matrix, NULL, NULL, NULL, NULL, NULL};
    static const struct argp_child children[] = {{&matrix, 0, NULL, 0}, {0}};
    static const struct argp argp = {measure_keys, parse, "[RANGE...] [-- CMD [ARG...]]",
        "Builds commits, records commands in each, and says between which of them something takes longer.\v"
        "  wakepath measure HEAD~5.. --build 'make -j2' -- ./bench\n"
        "  wakepath measure --tags 'v1.*' -b make -c sort=./sort -w small=1000 -w large=1000000 -n 10\n"
        "  wakepath measure --matrix nightly.conf\n\n"
        "Each commit has a work tree of its own below DIR: yours is not touched. Recordings of different commits take "
        "turns. What was done stays done: the same command line goes on after ^C. A commit that cannot be built is "
        "left "
        "out and told.\n"
        "Exit status: 0 nothing got worse, 2 something did, 1 failure, 64 usage.",
        children, NULL, NULL};
    *options = (struct wp_measure_options){.out = "wakepath-measure", .repository = ".", .repeats = DEFAULT_REPEATS};
    wp_options_check(&argp, argc, argv, true);
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, options);
    return make_cells(options, err);
}

int wp_bisect_options_parse(struct wp_measure_options *options, int argc, char **argv, struct wp_error *err)
{
    static const struct argp argp = {bisect_keys, parse, "--good COMMIT [-- CMD [ARG...]]",
        "Finds the first commit that makes a command, or one of its waits, take longer.\v"
        "  wakepath bisect --good v1.7 --build 'make -j2' -- ./bench\n"
        "  wakepath bisect --good v1.7 --bad v1.8 --hop category=blocking_io,function=audit_log -b make -- ./orders\n\n"
        "Commits on the first parents' line from good to bad are built in work trees of their own and recorded, until "
        "it "
        "is 99.9 % sure of each on which side it stands. One that cannot be built is passed over. The same command "
        "line "
        "goes on after ^C.\n"
        "Exit status: 0 found, 1 not found or failure, 64 usage.",
        NULL, NULL, NULL};
    *options = (struct wp_measure_options){
        .out = "wakepath-bisect", .repository = ".", .bad = "HEAD", .repeats = DEFAULT_REPEATS};
    wp_options_check(&argp, argc, argv, true);
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, options);
    return make_cells(options, err);
}

struct wp_workbench_options wp_measure_options_bench(const struct wp_measure_options *options)
{
    return (struct wp_workbench_options){.out = options->out,
        .repository = options->repository,
        .build = options->build,
        .filter = options->filter.count ? (const char *const *)options->filter.items : NULL,
        .cells = options->cells,
        .cell_count = options->cell_count};
}

void wp_measure_options_fini(struct wp_measure_options *options)
{
    struct wp_args *all[] = {
        &options->ranges, &options->filter, &options->texts, &options->commands, &options->workloads};
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        wp_args_fini(all[i]);
    for (uint32_t i = 0; i < options->cell_count; i++)
        wp_args_fini(&options->lines[i]);
}
