/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/parts.h"

#include "cli/base/args.h"
#include "cli/base/own_store.h"
#include "cli/base/program.h"
#include "common/log.h"
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LOG_LIMIT (1u << 20)
#define CAPTURE_MIB "512" /* beside the store */

static unsigned log_of(const struct wp_child *child)
{
    return !strcmp(child->name, "aggregator") ? 0 : !strcmp(child->name, "collector") ? 1 : 2;
}

static int open_log(struct wp_parts *parts, const struct wp_child *child, struct wp_error *err)
{
    int *log = &parts->logs[log_of(child)];
    if (!*log)
        *log = parts->options->is_verbose ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3) : memfd_create("log", MFD_CLOEXEC);
    if (*log >= 0)
        return *log;
    *log = 0;
    return wp_error_errno(err, -errno, "cannot make the log of the %s", child->name);
}

/* `args` lacks the program's own name; it is put in front by the caller as item 0. */
static int start(
    struct wp_parts *parts, struct wp_child *child, struct wp_args *args, int keep_fd, struct wp_error *err)
{
    char path[PATH_MAX];
    const char *name = args->count ? args->items[0] : "";
    if (args->failed)
        return wp_error_set(err, -ENOMEM, "out of memory for a command line");
    int rc = wp_program_sibling(name, path, sizeof(path), err);
    if (rc)
        return rc;
    int log_fd = open_log(parts, child, err);
    if (log_fd < 0)
        return log_fd;
    rc = wp_child_start(child,
        &(struct wp_child_options){.name = child->name,
            .path = path,
            .argv = args->items,
            .kind = WP_CHILD_PART,
            .mask = parts->mask,
            .log_fd = log_fd,
            .keep_fd = keep_fd},
        err);
    return rc;
}

/* As start, with a pipe for the part's word that it is ready. */
static int start_with_ready(
    struct wp_parts *parts, struct wp_child *child, struct wp_args *args, int *ready_fd, struct wp_error *err)
{
    int ready[2];
    if (pipe2(ready, O_CLOEXEC))
        return wp_error_errno(err, -errno, "cannot start the %s", child->name);
    wp_args_add(args, "--ready-fd");
    wp_args_addf(args, "%d", ready[1]);
    int rc = start(parts, child, args, ready[1], err);
    close(ready[1]);
    if (rc)
        close(ready[0]);
    else
        *ready_fd = ready[0];
    return rc;
}

static void add_common(const struct wp_parts *parts, struct wp_args *args, const char *socket_flag)
{
    wp_args_add(args, socket_flag);
    wp_args_addf(args, "ipc://%s/events", parts->output->scratch.path);
    wp_args_add(args, "--release");
    wp_args_add(args, parts->release);
    wp_args_add(args, "--log-level");
    wp_args_add(args, parts->options->is_verbose ? "info" : "warn");
}

/* What is recorded; a collector's cmdline~ knows an aggregator's words (collector/batch/thread_table.c). */
static void add_told(const struct wp_parts *parts, struct wp_args *args)
{
    if (parts->line) {
        wp_args_add(args, "--command-line");
        wp_args_add(args, parts->line);
    }
    if (parts->options->workload) {
        wp_args_add(args, "--workload");
        wp_args_add(args, parts->options->workload);
    }
}

int wp_parts_start_aggregator(struct wp_parts *parts, struct wp_child *child, int *ready_fd, struct wp_error *err)
{
    struct wp_args args = {0};
    child->name = "aggregator";
    wp_args_add(&args, "wakepath-aggregator");
    wp_args_add(&args, "--no-resume"); /* a recording ends with its aggregator */
    wp_args_add(&args, "--lookback");  /* a shell waits for minutes for what it has started: an hour, in a gigabyte */
    wp_args_add(&args, "3600000");
    wp_args_add(&args, "--no-config"); /* that is the machine's own, not this recording's */
    add_common(parts, &args, "--bind");
    wp_args_add(&args, "--store");
    wp_args_add(&args, parts->output->store);
    for (unsigned i = 0; i < parts->options->aggregate_count; i++) {
        wp_args_add(&args, "--aggregate");
        wp_args_add(&args, parts->options->aggregates[i]);
    }
    if (!parts->options->aggregate_count) {
        wp_args_add(&args, "--auto-aggregates");
        wp_args_add(&args, "20");
    }
    if (parts->options->top.is_on) { /* somebody looks on, and one host's data is not late */
        wp_args_add(&args, "--epoch");
        wp_args_add(&args, "500");
        wp_args_add(&args, "--lateness");
        wp_args_add(&args, "500");
    }
    add_told(parts, &args);
    if (parts->output->is_own_store) /* synced once, when it is whole */
        wp_args_add(&args, "--no-sync");
    else
        wp_args_add(&args, "--any-shard");          /* another recording may go on in the same store */
    if (wp_output_dir_has_capture(parts->output)) { /* beside a store of the recording's own */
        wp_args_add(&args, "--system-window");
        wp_args_addf(&args, "%s/" WP_OWN_SYSTEM, parts->output->store);
    }
    wp_args_add(&args, "--end-when-full"); /* somebody waits for the end, and is told */
    wp_args_add(&args, "--exit-after-sessions");
    wp_args_add(&args, "1");
    int rc = start_with_ready(parts, child, &args, ready_fd, err);
    parts->aggregator_pid = rc ? 0 : child->pid;
    wp_args_fini(&args);
    return rc;
}

/* Unwind rows and names that one recording has read are there from the start of the next: programs that live shortly
 * have whole stacks. */
static void add_cache(struct wp_args *args)
{
    const char *own = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    const char *chosen = getenv("WAKEPATH_COLLECTOR_UNWIND_CACHE");
    bool is_root = !geteuid(), has_own = own && *own == '/', has_home = home && *home == '/';
    if (!chosen && !is_root && !has_own && !has_home)
        return;
    wp_args_add(args, "--unwind-cache");
    if (chosen)
        wp_args_add(args, chosen);
    else if (is_root) /* the home may be somebody else's (sudo) */
        wp_args_add(args, "/var/cache/wakepath/unwind");
    else
        wp_args_addf(args, "%s%s/wakepath/unwind", has_own ? own : home, has_own ? "" : "/.cache");
}

/* Where somebody wants it, or else beside the recording's own store, as long as it is small. */
static void add_capture(const struct wp_parts *parts, struct wp_args *args)
{
    if (parts->options->capture) {
        wp_args_add(args, "--output");
        wp_args_add(args, parts->options->capture);
    } else if (wp_output_dir_has_capture(parts->output) && !parts->options->has_no_capture) {
        wp_args_add(args, "--output");
        wp_args_addf(args, "%s/" WP_OWN_CAPTURE, parts->output->store);
        wp_args_add(args, "--output-limit");
        wp_args_add(args, CAPTURE_MIB);
    }
}

int wp_parts_start_collector(struct wp_parts *parts, struct wp_child *child, int *ready_fd, struct wp_error *err)
{
    struct wp_args args = {0};
    child->name = "collector";
    wp_args_add(&args, "wakepath-collector");
    wp_args_add(&args, "--no-config");
    add_common(parts, &args, "--connect");
    wp_args_add(&args, "--overhead-limit"); /* somebody waits for the whole of it */
    wp_args_add(&args, "none");
    wp_args_add(&args, "--frequency");
    wp_args_addf(&args, "%u", parts->options->frequency_hz);
    add_cache(&args);
    wp_args_add(&args, "--recorder-pid");
    wp_args_addf(&args, "%d", (int)getpid());
    if (parts->aggregator_pid) {
        wp_args_add(&args, "--aggregator-pid");
        wp_args_addf(&args, "%d", (int)parts->aggregator_pid);
    }
    if (parts->command_pid) {
        wp_args_add(&args, "--command-pid");
        wp_args_addf(&args, "%d", (int)parts->command_pid);
    }
    if (parts->command_path) { /* it may be over before its files are read */
        wp_args_add(&args, "--learn");
        wp_args_add(&args, parts->command_path);
    }
    wp_args_add(&args, "--learn-running");
    for (unsigned i = 0; i < parts->options->pattern_count; i++) {
        wp_args_add(&args, "--match-cmdline");
        wp_args_add(&args, parts->options->patterns[i]);
    }
    add_capture(parts, &args);
    int rc = start_with_ready(parts, child, &args, ready_fd, err);
    wp_args_fini(&args);
    return rc;
}

/* What all threads did, if the aggregator came to write it. */
static void add_system(const struct wp_parts *parts, struct wp_args *args)
{
    char path[PATH_MAX];
    if (!wp_output_dir_has_capture(parts->output) ||
        (size_t)snprintf(path, sizeof(path), "%s/" WP_OWN_SYSTEM, parts->output->store) >= sizeof(path) ||
        access(path, F_OK))
        return;
    wp_args_add(args, "--system-window");
    wp_args_add(args, path);
}

int wp_parts_start_reporter(struct wp_parts *parts, struct wp_child *child, struct wp_error *err)
{
    struct wp_args args = {0};
    child->name = "reporter";
    wp_args_add(&args, "wakepath-reporter");
    wp_args_add(&args, "--no-config");
    wp_args_add(&args, "--store");
    wp_args_add(&args, parts->output->store);
    wp_args_add(&args, "--release");
    wp_args_add(&args, parts->release);
    wp_args_add(&args, "--out");
    wp_args_add(&args, parts->output->out);
    wp_args_add(&args, "--source-disk"); /* who records here shows what is here */
    wp_args_add(&args, "/");
    wp_args_add(&args, "--no-sync"); /* the store is, and they are made of it */
    if (parts->has_capture)
        wp_args_add(&args, "--own-pages");
    add_system(parts, &args);
    if (!parts->options->is_verbose)
        wp_args_add(&args, "--quiet");
    int rc = start(parts, child, &args, -1, err);
    wp_args_fini(&args);
    return rc;
}

int wp_parts_explain(const struct wp_parts *parts, const struct wp_child *child, const char *what, struct wp_error *err)
{
    char path[32];
    struct wp_buffer log = {0};
    int fd = parts->logs[log_of(child)];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    if (!parts->options->is_verbose && fd)
        wp_file_read(path, LOG_LIMIT, &log, NULL);
    wp_buffer_putc(&log, 0);
    const char *words = log.failed ? NULL : wp_log_last_words((char *)log.data);
    if (words)
        wp_error_set(err, -EIO, "the %s %s: %s", child->name, what, words);
    else
        wp_error_set(err, -EIO, "the %s %s (exit status %d)", child->name, what, wp_child_exit_code(child));
    wp_buffer_fini(&log);
    return -EIO;
}

void wp_parts_fini(struct wp_parts *parts)
{
    for (unsigned i = 0; i < WP_RECORD_PARTS; i++)
        if (parts->logs[i])
            close(parts->logs[i]);
}
