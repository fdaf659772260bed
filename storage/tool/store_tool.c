/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/tool/store_tool.h"

#include "common/log.h"
#include "common/standard_output.h"
#include "common/version.h"
#include "storage/env/store.h"
#include "storage/tool/tool_cat.h"
#include "storage/tool/tool_compact.h"
#include "storage/tool/tool_dump.h"
#include "storage/tool/tool_import.h"
#include "storage/tool/tool_list.h"
#include "storage/tool/tool_log.h"
#include "storage/tool/tool_merge.h"
#include "storage/tool/tool_metadata.h"
#include "storage/tool/tool_prune.h"
#include "storage/tool/tool_repair.h"
#include "storage/tool/tool_rm.h"
#include "storage/tool/tool_shared.h"
#include "storage/tool/tool_source.h"
#include "storage/tool/tool_stat.h"
#include "storage/tool/tool_verify.h"

#include <argp.h>
#include <errno.h>
#include <json-c/json.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct command {
    const char *name, *arguments, *help;
    int least, most; /* arguments */
    uint64_t flags;  /* that it knows */
    int (*run)(struct wp_tool *tool, struct wp_error *err);
};

#define AGES                                                                                                           \
    (WP_TOOL_VALUE(WP_TOOL_HOURS) | WP_TOOL_VALUE(WP_TOOL_DAYS) | WP_TOOL_VALUE(WP_TOOL_LATE) |                        \
        WP_TOOL_VALUE(WP_TOOL_NOW))
static const struct command commands[] = {
    {"ls", "ROOT[/RELEASE[/PREFIX]]", "List releases, or keys of one", 1, 3,
        WP_TOOL_JSON | WP_TOOL_RECURSIVE | WP_TOOL_LONG, wp_tool_ls},
    {"cat", "ROOT/RELEASE/KEY", "Print a value, or a sum: ROOT REV:AGGREGATE", 1, 3, WP_TOOL_JSON, wp_tool_cat},
    {"stat", "ROOT[/RELEASE]", "Print counts and sizes", 1, 2, WP_TOOL_JSON, wp_tool_stat},
    {"verify", "ROOT[/RELEASE]", "Read everything, report each fault", 1, 2, WP_TOOL_JSON, wp_tool_verify},
    {"releases", "ROOT", "List releases, times, sizes", 1, 1, WP_TOOL_JSON, wp_tool_releases_list},
    {"log", "ROOT[/RELEASE]", "List releases with their commits", 1, 2, WP_TOOL_JSON, wp_tool_log},
    {"compact", "ROOT[/RELEASE]", "Merge the deltas of reports", 1, 2, WP_TOOL_JSON | WP_TOOL_ROLL_UP | AGES,
        wp_tool_compact},
    {"prune", "ROOT[/RELEASE]", "Delete or merge old data", 1, 2,
        WP_TOOL_JSON | WP_TOOL_DRY_RUN | WP_TOOL_NO_ROLL_UP | WP_TOOL_QUIET | AGES |
            WP_TOOL_VALUE(WP_TOOL_KEEP_RELEASES) | WP_TOOL_VALUE(WP_TOOL_KEEP_AGE) | WP_TOOL_VALUE(WP_TOOL_KEEP) |
            WP_TOOL_VALUE(WP_TOOL_TRACES) | WP_TOOL_VALUE(WP_TOOL_MONTHS) | WP_TOOL_VALUE(WP_TOOL_STATE) |
            WP_TOOL_VALUE(WP_TOOL_QUOTA),
        wp_tool_prune},
    {"rm", "ROOT RELEASE[:AGGREGATE][@TIMEBOX][/SESSION]", "Delete what has that name", 1, 2,
        WP_TOOL_JSON | WP_TOOL_DRY_RUN | WP_TOOL_FORCE | WP_TOOL_VALUE(WP_TOOL_NOW), wp_tool_rm},
    {"merge", "ROOT[/RELEASE]... --into ROOT", "Merge stores into one", 1, WP_TOOL_ARGUMENTS,
        WP_TOOL_JSON | WP_TOOL_RENAME_SHARD | WP_TOOL_VALUE(WP_TOOL_INTO), wp_tool_merge},
    {"backup", "ROOT[/RELEASE] --into DIR", "Copy a store, also while it is in use", 1, 2,
        WP_TOOL_JSON | WP_TOOL_VALUE(WP_TOOL_INTO), wp_tool_backup},
    {"dump", "ROOT[/RELEASE]", "Print everything as text", 1, 2, WP_TOOL_JSON, wp_tool_dump},
    {"metadata", "get|set|rm|ls ROOT/RELEASE [KEY [VALUE]]", "Read and write metadata", 2, 5,
        WP_TOOL_JSON | WP_TOOL_LONG | WP_TOOL_VALUE(WP_TOOL_SHARD) | WP_TOOL_VALUE(WP_TOOL_AGGREGATE) |
            WP_TOOL_VALUE(WP_TOOL_TIMEBOX) | WP_TOOL_VALUE(WP_TOOL_NOW),
        wp_tool_metadata},
    {"source", "add|ls ROOT/RELEASE [PREFIX=DIR|FILE]...", "Store the text of source files", 2, WP_TOOL_ARGUMENTS,
        WP_TOOL_JSON | WP_TOOL_VALUE(WP_TOOL_SHARD), wp_tool_source},
    {"repair", "ROOT[/RELEASE] --drop-damaged", "Delete damaged values", 1, 2,
        WP_TOOL_JSON | WP_TOOL_DRY_RUN | WP_TOOL_DROP_DAMAGED, wp_tool_repair},
    {"import", "CAPTURE|ROOT[/RELEASE]... --into ROOT", "Import captures and stores recorded elsewhere", 1,
        WP_TOOL_ARGUMENTS,
        WP_TOOL_JSON | WP_TOOL_FORCE | WP_TOOL_RENAME_SHARD | WP_TOOL_VALUE(WP_TOOL_INTO) |
            WP_TOOL_VALUE(WP_TOOL_RELEASE) | WP_TOOL_VALUE(WP_TOOL_LABEL) | WP_TOOL_VALUE(WP_TOOL_SHARD) |
            WP_TOOL_VALUE(WP_TOOL_AGGREGATE) | WP_TOOL_VALUE(WP_TOOL_SYSTEM),
        wp_tool_import},
    {"load", "ROOT [DUMP]", "Create releases from a dump", 1, 2, WP_TOOL_JSON, wp_tool_load},
};
#undef AGES
#define COMMANDS (sizeof(commands) / sizeof(*commands))

#define KEY_OF(n) (256 + (n))
static const struct argp_option all_options[] = {
    {"json", 'j', NULL, 0, "Print JSON", 0},
    {"recursive", 'R', NULL, 0, "List subkeys, too", 0},
    {"long", 'l', NULL, 0, "Print kinds, sizes and totals, too", 0},
    {"dry-run", 'n', NULL, 0, "Change nothing, print what would be deleted", 0},
    {"roll-up", 'r', NULL, 0, "Merge old hours into days, old days into months", 0},
    {"no-roll-up", 'N', NULL, 0, "Delete old hours and days instead of rolling them up", 0},
    {"rename-shard", 'm', NULL, 0, "Rename a shard whose name another origin already uses", 0},
    {"drop-damaged", 'D', NULL, 0, "Delete what cannot be read", 0},
    {"force", 'f', NULL, 0,
        "Import although it was recorded as another release, or was already imported another way; remove although it "
        "is "
        "recorded now or kept",
        0},
    {"quiet", 'q', NULL, 0, "Print nothing when there is no error", 0},
    {"traces", KEY_OF(WP_TOOL_TRACES), "AGE", 0, "Keep traces this long (7d)", 0},
    {"hours", KEY_OF(WP_TOOL_HOURS), "AGE", 0, "Keep hours this long, then merge them into days (30d)", 0},
    {"days", KEY_OF(WP_TOOL_DAYS), "AGE", 0, "Keep days this long, then merge them into months (1y)", 0},
    {"months", KEY_OF(WP_TOOL_MONTHS), "AGE", 0, "Keep months this long (default: for ever)", 0},
    {"state", KEY_OF(WP_TOOL_STATE), "AGE", 0, "Keep ended sessions and processes this long (30d)", 0},
    {"late-after", KEY_OF(WP_TOOL_LATE), "AGE", 0, "Wait this long for late data before a day or month is closed (1h)",
        0},
    {"now", KEY_OF(WP_TOOL_NOW), "SECONDS", 0, "Compute ages relative to this time instead of now", 0},
    {"quota", KEY_OF(WP_TOOL_QUOTA), "BYTES", 0,
        "Most bytes of all releases together: the oldest timeboxes are deleted first, then the oldest releases", 0},
    {"keep-releases", KEY_OF(WP_TOOL_KEEP_RELEASES), "N", 0, "Keep the N most recently active releases (all)", 0},
    {"keep-release-age", KEY_OF(WP_TOOL_KEEP_AGE), "AGE", 0,
        "Keep a release this long after its last activity (default: for ever)", 0},
    {"keep", KEY_OF(WP_TOOL_KEEP), "REV", 0, "Keep this release: an id or a reference as REV~2; may be repeated", 0},
    {"shard", KEY_OF(WP_TOOL_SHARD), "ID", 0, "Of this shard", 0},
    {"aggregate", KEY_OF(WP_TOOL_AGGREGATE), "NAME", 0,
        "The aggregate to use instead of the release; with import: NAME=SELECTOR as for the aggregator (may be "
        "repeated)",
        0},
    {"timebox", KEY_OF(WP_TOOL_TIMEBOX), "SECOND", 0, "The timebox of the aggregate that begins at this time", 0},
    {"release", KEY_OF(WP_TOOL_RELEASE), "ID", 0, "The release to store it under", 0},
    {"label", KEY_OF(WP_TOOL_LABEL), "KEY=VALUE", 0, "Add this to the metadata of the release; may be repeated", 0},
    {"into", KEY_OF(WP_TOOL_INTO), "ROOT", 0, "The folder to write to, created if it does not exist", 0},
    {"system-window", KEY_OF(WP_TOOL_SYSTEM), "FILE", 0,
        "Write what all threads of a capture did, for wakepath-reporter --system-window", 0},
};
static const unsigned option_flags[] = {WP_TOOL_JSON, WP_TOOL_RECURSIVE, WP_TOOL_LONG, WP_TOOL_DRY_RUN, WP_TOOL_ROLL_UP,
    WP_TOOL_NO_ROLL_UP, WP_TOOL_RENAME_SHARD, WP_TOOL_DROP_DAMAGED, WP_TOOL_FORCE, WP_TOOL_QUIET};
#define OPTIONS (sizeof(all_options) / sizeof(*all_options))

static uint64_t flag_of(size_t option)
{
    int key = all_options[option].key;
    return key >= KEY_OF(0) ? WP_TOOL_VALUE(key - KEY_OF(0)) : option_flags[option];
}

struct parse {
    const struct command *command;
    struct wp_tool *tool;
    int count; /* of arguments so far */
    int rest;  /* top level: where the command's own words start */
};

/* --- one command --- */

static void take_value(struct wp_tool *tool, enum wp_tool_value option, const char *value, struct argp_state *state)
{
    if (tool->given_count == WP_TOOL_GIVEN)
        argp_error(state, "more than %d options with a value", WP_TOOL_GIVEN);
    tool->values[option] = value;
    tool->given[tool->given_count++ % WP_TOOL_GIVEN] = (struct wp_tool_given){option, value};
}

static error_t parse_command(int key, char *arg, struct argp_state *state)
{
    struct parse *parse = state->input;
    for (size_t i = 0; i < OPTIONS; i++) {
        if (key == all_options[i].key && parse->command->flags & flag_of(i)) {
            parse->tool->flags |= flag_of(i);
            if (key >= KEY_OF(0))
                take_value(parse->tool, (enum wp_tool_value)(key - KEY_OF(0)), arg, state);
            return 0;
        }
    }
    if (key == ARGP_KEY_ARG) {
        if (parse->count == parse->command->most)
            argp_error(state, "unexpected argument '%s'", arg);
        else
            parse->tool->arguments[parse->count++] = arg;
        return 0;
    }
    if (key == ARGP_KEY_END && parse->count < parse->command->least)
        argp_error(state, "%s needs %s", parse->command->name, parse->command->arguments);
    return key == ARGP_KEY_END ? 0 : ARGP_ERR_UNKNOWN;
}

static void parse_words(const struct command *command, struct wp_tool *tool, int argc, char **argv)
{
    struct argp_option options[OPTIONS + 1] = {0};
    struct parse parse = {.command = command, .tool = tool};
    struct argp argp = {options, parse_command, command->arguments, command->help, NULL, NULL, NULL};
    char name[64];
    for (size_t i = 0, count = 0; i < OPTIONS; i++)
        if (command->flags & flag_of(i))
            options[count++] = all_options[i];
    snprintf(name, sizeof(name), "wakepath-store %s", command->name);
    argv[0] = name; /* usage lines name the command */
    argp_parse(&argp, argc, argv, 0, NULL, &parse);
}

/* --- the program --- */

/* "there is no command 'check': ls, cat, stat ..." */
static void refuse_command(struct argp_state *state, const char *name)
{
    struct wp_buffer list = {0};
    for (size_t i = 0; i < COMMANDS; i++)
        wp_buffer_printf(&list, "%s%s", i ? ", " : "", commands[i].name);
    argp_error(state, "there is no command '%s': %.*s", name, (int)list.size, list.data ? (char *)list.data : "");
    wp_buffer_fini(&list);
}

static error_t parse_program(int key, char *arg, struct argp_state *state)
{
    struct parse *parse = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        for (size_t i = 0; i < COMMANDS; i++)
            if (!strcmp(commands[i].name, arg))
                parse->command = &commands[i];
        if (!parse->command)
            refuse_command(state, arg);
        parse->rest = state->next - 1;
        state->next = state->argc; /* what follows is the command's */
        return 0;
    case ARGP_KEY_END:
        if (!parse->command)
            argp_error(state, "give a command");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static char *list_commands(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_POST_DOC)
        return (char *)(uintptr_t)text;
    struct wp_buffer list = {0};
    wp_buffer_puts(&list, "Commands (each has --help):\n");
    for (size_t i = 0; i < COMMANDS; i++)
        wp_buffer_printf(&list, "  %-9s %-29s %s\n", commands[i].name, commands[i].arguments, commands[i].help);
    wp_buffer_puts(&list,
        "\nROOT, RELEASE and KEY may also be separate arguments. A store may be read while it is being written. Exit "
        "status: 0 well, 1 failure or fault, 64 usage.");
    return (char *)list.data; /* argp frees it */
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "wakepath-store %s\n", wp_version());
}

static const struct command *parse_all(struct wp_tool *tool, int argc, char **argv)
{
    struct parse parse = {0};
    struct argp argp = {
        NULL, parse_program, "COMMAND ...", "Reads, checks and maintains a store.\v", NULL, list_commands, NULL};
    argp_err_exit_status = WP_EXIT_USAGE;
    argp_program_version_hook = print_version;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &parse);
    parse_words(parse.command, tool, argc - parse.rest, argv + parse.rest);
    return parse.command;
}

struct job {
    const struct command *command;
    struct wp_tool tool;
};

static int run_job(void *context)
{
    struct job *job = context;
    struct wp_tool *tool = &job->tool;
    struct wp_logger logger = {"wakepath-store", WP_LOG_INFO, 2};
    struct wp_error err = {0};
    int rc = job->command->run(tool, &err);
    if (tool->out.failed && !rc)
        rc = wp_error_set(&err, -ENOMEM, "out of memory for the output");
    if (tool->out.size && (fwrite(tool->out.data, 1, tool->out.size, stdout) != tool->out.size) && !rc)
        rc = wp_error_errno(&err, -errno, "cannot write to standard output");
    if (fflush(stdout) && !rc)
        rc = wp_error_errno(&err, -errno, "cannot write to standard output");
    if (rc < 0 && ferror(stdout))
        wp_standard_output_drop(stdout);
    char *rest = (char *)tool->complaints.data;
    for (char *line; rest && *rest && (line = strsep(&rest, "\n"));)
        wp_log(&logger, WP_LOG_ERROR, "%s", line);
    if (rc < 0)
        wp_log(&logger, WP_LOG_ERROR, "%s", err.text);
    rc = rc == -WP_TOOL_MISUSE ? WP_EXIT_USAGE : rc || tool->complaints.size ? WP_EXIT_FAILURE : WP_EXIT_OK;
    wp_store_close(tool->store);
    wp_buffer_fini(&tool->out);
    wp_buffer_fini(&tool->complaints);
    return rc;
}

int wp_store_tool_main(int argc, char **argv)
{
    struct wp_logger logger = {"wakepath-store", WP_LOG_INFO, 2};
    struct wp_error err = {0};
    struct job job = {0};
    job.command = parse_all(&job.tool, argc, argv);
    int rc = wp_tool_apart(run_job, &job, &err);
    if (rc >= 0)
        return rc;
    if (*err.text)
        wp_log(&logger, WP_LOG_ERROR, "%s", err.text);
    else if (wp_tool_signal_text(-rc))
        wp_log(&logger, WP_LOG_ERROR, "%s: %s; 'wakepath-store verify' names the release", job.tool.arguments[0],
            wp_tool_signal_text(-rc));
    else
        return 128 - rc; /* killed from outside, as a shell says it */
    return WP_EXIT_FAILURE;
}
