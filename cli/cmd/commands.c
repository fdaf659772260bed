/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cmd/commands.h"

#include "cli/doctor/doctor.h"
#include "cli/fleet/enroll.h"
#include "cli/fleet/keygen.h"
#include "cli/measure/bisect.h"
#include "cli/measure/measure.h"
#include "cli/record/perf_events.h"
#include "cli/base/program.h"
#include "cli/record/record.h"
#include "cli/fleet/status.h"
#include "cli/record/top.h"
#include "cli/view/view.h"
#include "common/nearest.h"
#include "common/version.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct command {
    const char *name;
    int (*run)(const struct command *command, int argc, char **argv);
    const char *program; /* a sibling that takes over; NULL: run here */
    const char *help;
};

static int run_record(const struct command *command, int argc, char **argv);
static int run_top(const struct command *command, int argc, char **argv);
static int run_view(const struct command *command, int argc, char **argv);
static int run_program(const struct command *command, int argc, char **argv);
static int run_mode(const struct command *command, int argc, char **argv);
static int run_measure(const struct command *command, int argc, char **argv);
static int run_bisect(const struct command *command, int argc, char **argv);
static int run_perf_events(const struct command *command, int argc, char **argv);
static int run_keygen(const struct command *command, int argc, char **argv);
static int run_enroll(const struct command *command, int argc, char **argv);
static int run_status(const struct command *command, int argc, char **argv);
static int run_doctor(const struct command *command, int argc, char **argv);
static int run_help(const struct command *command, int argc, char **argv);

static const struct command commands[] = {
    {"record", run_record, NULL, "run a command or watch the host, and show where the time went"},
    {"top", run_top, NULL, "show what a running service waits for, live"},
    {"view", run_view, NULL, "show a recording in a browser, with pages of any process"},
    {"collector", run_program, "wakepath-collector", "record this host's events and send them to an aggregator"},
    {"aggregator", run_program, "wakepath-aggregator",
        "receive events, compute who waited for whom, and store reports"},
    {"reporter", run_program, "wakepath-reporter", "make pages, JSON or text from a store"},
    {"report", run_program, "wakepath-reporter", "the same; by default of the recording in this folder"},
    {"query", run_mode, "wakepath-reporter", "sum up the time of releases by process, function, line and others"},
    {"check", run_mode, "wakepath-reporter", "compare two releases: does the newer one take longer?"},
    {"diff", run_mode, "wakepath-reporter", "the same"},
    {"log", run_mode, "wakepath-reporter", "list releases with their commits and what was found"},
    {"measure", run_measure, NULL, "record commands in many commits, and compare neighbours"},
    {"bisect", run_bisect, NULL, "find the first commit that makes something take longer"},
    {"store", run_program, "wakepath-store", "read, check and maintain a store"},
    {"status", run_status, NULL, "show the state of the daemons"},
    {"doctor", run_doctor, NULL, "check whether this host can record, and what to fix"},
    {"perf-events", run_perf_events, NULL, "print how to record with perf what a collector reads"},
    {"keygen", run_keygen, NULL, "make a key pair for a collector or an aggregator"},
    {"enroll", run_enroll, NULL, "get a host's key listed with a token, or serve that"},
    {"help", run_help, NULL, "this list, or the help of a sub-command"},
};
#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *find(const char *name)
{
    for (size_t i = 0; i < COMMANDS; i++)
        if (!strcmp(commands[i].name, name))
            return &commands[i];
    return NULL;
}

static int complain(const struct wp_error *err)
{
    fprintf(stderr, "wakepath: %s\n", err->text);
    return WP_EXIT_FAILURE;
}

static int run_record(const struct command *command, int argc, char **argv)
{
    struct wp_record_options options;
    struct wp_error err = {0};
    (void)command;
    argv[0] = "wakepath record";
    wp_record_options_parse(&options, argc, argv);
    int code = wp_record_run(&options, stderr, stdout, &err);
    if (err.code)
        complain(&err);
    wp_record_options_fini(&options);
    return code;
}

static int run_top(const struct command *command, int argc, char **argv)
{
    struct wp_error err = {0};
    (void)command;
    argv[0] = "wakepath top";
    int code = wp_top_run(argc, argv, &err);
    if (err.code)
        complain(&err);
    return code;
}

static int run_measure(const struct command *command, int argc, char **argv)
{
    struct wp_error err = {0};
    (void)command;
    argv[0] = "wakepath measure";
    int code = wp_measure_run(argc, argv, stdout, stderr, &err);
    if (err.code)
        complain(&err);
    return code;
}

static int run_bisect(const struct command *command, int argc, char **argv)
{
    struct wp_error err = {0};
    (void)command;
    argv[0] = "wakepath bisect";
    int code = wp_bisect_run(argc, argv, stdout, stderr, &err);
    if (err.code)
        complain(&err);
    return code;
}

static int run_view(const struct command *command, int argc, char **argv)
{
    struct wp_error err = {0};
    (void)command;
    argv[0] = "wakepath view";
    return wp_view_run(argc, argv, stdout, &err) ? complain(&err) : WP_EXIT_OK;
}

static int run_perf_events(const struct command *command, int argc, char **argv)
{
    struct wp_error err = {0};
    (void)command;
    argv[0] = "wakepath perf-events";
    return wp_perf_events_run(argc, argv, stdout, &err) ? complain(&err) : WP_EXIT_OK;
}

static int run_keygen(const struct command *command, int argc, char **argv)
{
    struct wp_error err = {0};
    (void)command;
    argv[0] = "wakepath keygen";
    return wp_keygen_run(argc, argv, stdout, &err) ? complain(&err) : WP_EXIT_OK;
}

static int run_enroll(const struct command *command, int argc, char **argv)
{
    struct wp_error err = {0};
    (void)command;
    argv[0] = "wakepath enroll";
    return wp_enroll_run(argc, argv, &err) ? complain(&err) : WP_EXIT_OK;
}

/* 0, 1, or an error that is still to be said. */
static int exit_status(int rc, const struct wp_error *err)
{
    return rc < 0 ? complain(err) : rc ? WP_EXIT_FAILURE : WP_EXIT_OK;
}

static int run_status(const struct command *command, int argc, char **argv)
{
    struct wp_error err = {0};
    (void)command;
    argv[0] = "wakepath status";
    return wp_status_run(argc, argv, stdout, &err) ? complain(&err) : WP_EXIT_OK;
}

static int run_doctor(const struct command *command, int argc, char **argv)
{
    struct wp_error err = {0};
    (void)command;
    argv[0] = "wakepath doctor";
    return exit_status(wp_doctor_run(argc, argv, stdout, &err), &err);
}

static int run_program(const struct command *command, int argc, char **argv)
{
    char path[PATH_MAX], name[64];
    struct wp_error err = {0};
    (void)argc;
    if (wp_program_sibling(command->program, path, sizeof(path), &err))
        return complain(&err);
    bool is_word = command->run == run_mode; /* errors are those of the command that was typed */
    snprintf(name, sizeof(name), "%s%s", is_word ? "wakepath " : "", is_word ? command->name : command->program);
    argv[0] = name;
    execv(path, argv);
    wp_error_errno(&err, -errno, "cannot run '%s'", path);
    return complain(&err);
}

/* A command that is a word of its program's: `wakepath query ...` is `wakepath-reporter query ...`. */
static int run_mode(const struct command *command, int argc, char **argv)
{
    char **longer = calloc((size_t)argc + 2, sizeof(*longer)), name[64];
    struct wp_error err = {0};
    if (!longer) {
        wp_error_set(&err, -ENOMEM, "out of memory for %d arguments", argc);
        return complain(&err);
    }
    snprintf(name, sizeof(name), "%s", strcmp(command->name, "diff") ? command->name : "check");
    longer[1] = name;
    memcpy(longer + 2, argv + 1, (size_t)(argc - 1) * sizeof(*argv)); /* calloc made the NULL at the end */
    int code = run_program(command, argc + 1, longer);
    free(longer);
    return code;
}

static const char lesson[] = "Begin with:\n"
                             "  wakepath record -- make -j2             run it, show where its time went\n"
                             "  wakepath record -p 4711 --duration 30s  attach to a process\n"
                             "  wakepath top -p 4711                    what it waits for, right now\n"
                             "  wakepath query --by function            ask the recording here\n"
                             "  wakepath check v1 v2 --store ROOT       is v2 slower? exit status 2\n"
                             "  wakepath doctor                         look what this host lacks\n";

static void list(FILE *out)
{
    fputs("Usage: wakepath COMMAND [ARG...]\n\n"
          "Where did the time go, and who was being waited for?\n\n",
        out);
    fprintf(out, "%s\nSub-commands:\n", lesson);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].help);
    fputs("\n`wakepath COMMAND --help` tells more.\n", out);
}

static int refuse(const char *name)
{
    const char *names[COMMANDS];
    for (size_t i = 0; i < COMMANDS; i++)
        names[i] = commands[i].name;
    const char *meant = wp_nearest(name, names, COMMANDS);
    fprintf(stderr, "wakepath: no sub-command '%.100s'%s%s%s `wakepath help` lists them\n", name,
        meant ? ": did you mean '" : "", meant ? meant : "", meant ? "'?" : ";");
    return WP_EXIT_USAGE;
}

static void print_version(FILE *stream, struct argp_state *state)
{
    (void)state;
    fprintf(stream, "wakepath %s\n", wp_version());
}

static int run_help(const struct command *command, int argc, char **argv)
{
    char help[] = "--help";
    const struct command *about = argc > 1 ? find(argv[1]) : NULL;
    if (argc > 1 && !strcmp(argv[1], "--version")) {
        print_version(stdout, NULL);
        return WP_EXIT_OK;
    }
    bool is_list = argc > 1 && (!strcmp(argv[1], help) || !strcmp(argv[1], "--usage") || !strcmp(argv[1], "-?"));
    if (argc > 1 && !about && !is_list)
        return refuse(argv[1]);
    if (!about || about == command) {
        list(stdout);
        return WP_EXIT_OK;
    }
    char *arguments[] = {argv[0], help, NULL};
    return about->run(about, 2, arguments);
}

static char *help_filter(int key, const char *text, void *input)
{
    (void)input;
    if (key != ARGP_KEY_HELP_EXTRA)
        return (char *)text;
    char *extra = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&extra, &size);
    if (!out)
        return NULL;
    fprintf(out, "%s\nSub-commands:\n", lesson);
    for (size_t i = 0; i < COMMANDS; i++)
        fprintf(out, "  %-11s %s\n", commands[i].name, commands[i].help);
    fputs("`wakepath COMMAND --help` tells more.", out);
    return fclose(out) ? NULL : extra;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    int *first = state->input;
    (void)arg;
    switch (key) {
    case ARGP_KEY_ARGS:
        *first = state->next;
        return 0;
    case ARGP_KEY_NO_ARGS:
        list(stderr);
        exit(WP_EXIT_USAGE);
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

int wp_commands_run(int argc, char **argv)
{
    static const struct argp argp = {NULL, parse, "COMMAND [ARG...]",
        "Where did the time go, and who was being waited for?", NULL, help_filter, NULL};
    int first = 0;
    argp_err_exit_status = WP_EXIT_USAGE;
    argp_program_version_hook = print_version;
    argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &first);
    const struct command *command = find(argv[first]);
    if (!command)
        return refuse(argv[first]);
    return command->run(command, argc - first, argv + first);
}
