/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/store_tool.h"

#include "common/log.h"
#include "common/version.h"

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
    int least, most;      /* arguments */
    unsigned flags;       /* that it knows */
    int (*run)(struct wp_tool *tool, struct wp_error *err);
};

static const struct command commands[] = {
    {"ls", "ROOT[/RELEASE[/PREFIX]]", "List releases, or keys of one", 1, 3, WP_TOOL_JSON | WP_TOOL_RECURSIVE | WP_TOOL_LONG,
        wp_tool_ls},
    {"cat", "ROOT/RELEASE/KEY", "Print a value as text", 1, 3, WP_TOOL_JSON, wp_tool_cat},
    {"stat", "ROOT[/RELEASE]", "Say how much there is of what", 1, 2, WP_TOOL_JSON, wp_tool_stat},
    {"verify", "ROOT[/RELEASE]", "Read all, name each fault", 1, 2, WP_TOOL_JSON,
        wp_tool_verify},
    {"releases", "ROOT", "List releases, times, sizes", 1, 1, WP_TOOL_JSON, wp_tool_releases_list},
    {"compact", "ROOT[/RELEASE]", "Merge the deltas of reports", 1, 2, WP_TOOL_JSON,
        wp_tool_compact},
};
#define COMMANDS (sizeof(commands) / sizeof(*commands))

static const struct argp_option all_options[] = {
    {"json", 'j', NULL, 0, "Print JSON", 0},
    {"recursive", 'R', NULL, 0, "List what is below, too", 0},
    {"long", 'l', NULL, 0, "With kinds, sizes and totals", 0},
};
static const unsigned option_flags[] = {WP_TOOL_JSON, WP_TOOL_RECURSIVE, WP_TOOL_LONG};
#define OPTIONS (sizeof(all_options) / sizeof(*all_options))

struct parse {
    const struct command *command;
    struct wp_tool *tool;
    int count;            /* of arguments so far */
    int rest;             /* top level: where the command's own words start */
};

/* --- one command --- */

static error_t parse_command(int key, char *arg, struct argp_state *state)
{
    struct parse *parse = state->input;
    for (size_t i = 0; i < OPTIONS; i++) {
        if (key == all_options[i].key && parse->command->flags & option_flags[i]) {
            parse->tool->flags |= option_flags[i];
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
        if (command->flags & option_flags[i])
            options[count++] = all_options[i];
    snprintf(name, sizeof(name), "wakepath-store %s", command->name);
    argv[0] = name; /* usage lines name the command */
    argp_parse(&argp, argc, argv, 0, NULL, &parse);
}

/* --- the program --- */

static error_t parse_program(int key, char *arg, struct argp_state *state)
{
    struct parse *parse = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        for (size_t i = 0; i < COMMANDS; i++)
            if (!strcmp(commands[i].name, arg))
                parse->command = &commands[i];
        if (!parse->command)
            argp_error(state, "there is no command '%s'", arg);
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
        wp_buffer_printf(&list, "  %-9s %-24s %s\n", commands[i].name, commands[i].arguments, commands[i].help);
    wp_buffer_puts(&list, "\nA blank does as well as the slash between ROOT, RELEASE and KEY. A store may be "
        "read while it is being written. Exit status: 0 well, 1 failure or fault, 64 usage.");
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
    struct argp argp = {NULL, parse_program, "COMMAND ...", "Looks into a store, checks it, tidies it.\v", NULL, list_commands,
        NULL};
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
    char *rest = (char *)tool->complaints.data;
    for (char *line; rest && *rest && (line = strsep(&rest, "\n"));)
        wp_log(&logger, WP_LOG_ERROR, "%s", line);
    if (rc < 0)
        wp_log(&logger, WP_LOG_ERROR, "%s", err.text);
    rc = rc || tool->complaints.size ? WP_EXIT_FAILURE : WP_EXIT_OK;
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

/* --- what commands share --- */

int wp_tool_open(struct wp_tool *tool, struct wp_error *err)
{
    int rc = wp_tool_place_of(&tool->place, tool->arguments, err);
    return rc ? rc : wp_store_open(&tool->store, tool->place.root, false, err);
}

int wp_tool_releases(struct wp_tool *tool, char ***releases, size_t *count, struct wp_error *err)
{
    *releases = NULL;
    *count = 0;
    if (*tool->place.rest)
        return wp_error_set(err, -EINVAL, "'%s': give a release, not a key", tool->place.rest);
    if (!*tool->place.release)
        return wp_store_releases(tool->store, releases, count, err);
    if (!wp_strings_add(releases, count, tool->place.release))
        return 0;
    wp_strings_free(*releases, *count);
    return wp_error_set(err, -ENOMEM, "out of memory");
}

int wp_tool_pass_over(struct wp_tool *tool, int rc, const struct wp_error *err)
{
    if (rc != -EBADMSG || *tool->place.release)
        return rc;
    wp_buffer_printf(&tool->complaints, "%s\n", err->text);
    return 0;
}

const char *wp_tool_signal_text(int signal)
{
    switch (signal) {
    case SIGBUS:
    case SIGSEGV:
    case SIGABRT:
        return "the structure of a data.mdb is damaged: reading it ended the reading process";
    default:
        return NULL;
    }
}

int wp_tool_apart(int (*work)(void *context), void *context, struct wp_error *err)
{
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child < 0)
        return wp_error_errno(err, -errno, "cannot start the reading process");
    if (!child) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        _exit(work(context));
    }
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return wp_error_errno(err, -errno, "cannot wait for the reading process");
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int wp_tool_json(struct wp_tool *tool, struct json_object *object, struct wp_error *err)
{
    const char *text = object ? json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE)
                              : NULL;
    if (text) {
        wp_buffer_puts(&tool->out, text);
        wp_buffer_putc(&tool->out, '\n');
    }
    int rc = text ? 0 : wp_error_set(err, -ENOMEM, "out of memory for JSON");
    json_object_put(object);
    return rc;
}

const char *wp_tool_size(uint64_t bytes, char *text, size_t room)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double amount = (double)bytes;
    size_t unit = 0;
    for (; amount >= 1024 && unit + 1 < sizeof(units) / sizeof(*units); unit++)
        amount /= 1024;
    snprintf(text, room, unit ? "%.1f %s" : "%.0f %s", amount, units[unit]);
    return text;
}

const char *wp_tool_time(uint64_t ns, char *text, size_t room)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    size_t unit = 0;
    while (unit < 3 && ns < units[unit].ns)
        unit++;
    snprintf(text, room, unit < 3 ? "%.2f %s" : "%.0f %s", (double)ns / (double)units[unit].ns, units[unit].name);
    return text;
}
