/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/record/record.h"

#include "cli/record/command_note.h"
#include "cli/record/live_view.h"
#include "cli/base/open_page.h"
#include "cli/record/output_dir.h"
#include "cli/base/own_store.h"
#include "cli/record/parts.h"
#include "cli/base/privilege.h"
#include "cli/base/program.h"
#include "cli/record/record_summary.h"
#include "cli/base/release.h"
#include "cli/base/supervisor.h"
#include "cli/view/busiest.h"
#include "common/clock.h"
#include "common/path.h"
#include "common/standard_output.h"
#include "common/version.h"
#include "reporter/display/page_id.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SECOND WP_NS_PER_S
#define START_LIMIT (60 * SECOND) /* loading and verifying the BPF programs takes seconds on a slow machine */
#define DRAIN_LIMIT (120 * SECOND)
#define RESOLVE_LIMIT (600 * SECOND)
#define FOLLOW_LIMIT SECOND /* for the end of the aggregator that a collector says to be gone */
#define REPORT_LIMIT (1800 * SECOND)
#define GIT_LIMIT_MS 5000
#define OPENER_MS 500
/* Pages of the busiest processes: what is not made by then is made by wakepath view. */
#define OWN_LIMIT (10 * SECOND)
#define OWN_CAPTURE_LIMIT ((off_t)64 << 20)
/* Two ^C this close together mean "give up"; closer than the first figure they are one, sent to us twice. */
#define GIVE_UP_MIN (SECOND / 5)
#define GIVE_UP_MAX (2 * SECOND)

enum stage { STAGE_STARTING, STAGE_RECORDING, STAGE_FINISHING, STAGE_REPORTING, STAGE_WHOLE };

struct recording {
    const struct wp_record_options *options;
    FILE *say;
    struct wp_supervisor supervisor;
    struct wp_output_dir output;
    struct wp_parts parts;
    struct wp_child command, aggregator, collector, reporter;
    struct wp_own_pages own;
    off_t capture_size; /* of the one beside the store; 0: none */
    char release[WP_ID_ROOM], command_path[PATH_MAX];
    char aggregate[WP_ID_ROOM]; /* the command's own, as pages name it; "": not known */
    struct wp_commit commit;    /* of the release */
    struct wp_buffer line;      /* the command's, for the store; empty: none, or it is left out */
    enum stage stage;
    mode_t file_mask;        /* the caller's, for CMD */
    uint64_t interrupted_ns; /* the last interruption; 0 none */
    uint64_t watched_ns;     /* how long, where there is no command */
    int gave_up;             /* the signal that made us give up */
    bool is_over;            /* without a command: the user ended it, or the process that was attached to */
    int process_fd;          /* of that process; -1: none */
    bool is_process_over;    /* it has ended */
    bool keep_store;         /* what is in the store is whole */
    struct wp_live_view view;
};

static void print_progress(const struct recording *recording, const char *text)
{
    if (!recording->options->is_quiet && !recording->options->is_json && isatty(fileno(recording->say)))
        fprintf(recording->say, "wakepath: %s ...\n", text);
}

/* While CMD runs, signals are CMD's; the terminal has sent it its own already. */
static void take_command_signal(struct recording *recording, const struct wp_wake *wake, uint64_t now)
{
    uint64_t since = now - recording->interrupted_ns;
    bool is_interrupt = wake->signal == SIGINT || wake->signal == SIGQUIT;
    if (!wake->is_from_terminal)
        wp_child_signal(&recording->command, wake->signal);
    if (!is_interrupt)
        return;
    if (recording->interrupted_ns && since >= GIVE_UP_MIN && since <= GIVE_UP_MAX)
        recording->gave_up = wake->signal;
    if (!recording->interrupted_ns || since >= GIVE_UP_MIN)
        recording->interrupted_ns = now;
}

static void take_signal(struct recording *recording, const struct wp_wake *wake)
{
    uint64_t now = wp_supervisor_now();
    if (recording->stage == STAGE_RECORDING && recording->command.running) {
        take_command_signal(recording, wake, now);
    } else if (recording->stage == STAGE_RECORDING && !recording->is_over) {
        recording->is_over = true;
        recording->interrupted_ns = now;
    } else if (recording->stage == STAGE_STARTING || now - recording->interrupted_ns >= GIVE_UP_MIN) {
        recording->gave_up = wake->signal;
    }
}

static bool has_failed(const struct wp_child *child)
{
    return !child->running && wp_child_exit_code(child);
}

/* The collector of an aggregator that failed has nobody to deliver to, and tries for a while; where the aggregator
 * ended well, it has all, and the kernel takes its time to let go of the programs. */
static bool is_left_alone(const struct recording *recording, const struct wp_child *child)
{
    return child == &recording->collector && recording->stage == STAGE_FINISHING && !recording->aggregator.running;
}

/* Waits until `child` has ended (fd -1), or has nobody to wait for, or `fd` is readable. -ECANCELED: the user gave up;
 * -ETIMEDOUT. */
static int await(
    struct recording *recording, const struct wp_child *child, int fd, uint64_t limit, struct wp_error *err)
{
    uint64_t deadline = wp_supervisor_now() + limit;
    while (child->running && !is_left_alone(recording, child)) {
        struct wp_wake wake;
        int rc = wp_supervisor_wait(&recording->supervisor, fd, deadline, &wake, err);
        if (rc)
            return rc;
        if (wake.kind == WP_WAKE_SIGNAL)
            take_signal(recording, &wake);
        if (recording->gave_up)
            return wp_error_set(err, -ECANCELED, "interrupted: the recording was given up");
        if (wake.kind == WP_WAKE_READABLE)
            return 0;
        if (wake.kind == WP_WAKE_DEADLINE)
            return wp_error_set(err, -ETIMEDOUT, "the %s did not get ready or end in %llu seconds", child->name,
                (unsigned long long)(limit / SECOND));
    }
    return 0;
}

static int await_ready(struct recording *recording, const struct wp_child *child, int *fd, struct wp_error *err)
{
    char word[16];
    int rc = await(recording, child, *fd, START_LIMIT, err);
    /* A part that failed closes the pipe before it is gone: its log is whole only then. */
    if (!rc && read(*fd, word, sizeof(word)) <= 0) {
        rc = await(recording, child, -1, START_LIMIT, err);
        if (!rc)
            rc = wp_parts_explain(&recording->parts, child, "could not start", err);
    }
    close(*fd);
    *fd = -1;
    return rc;
}

static int hold_command(struct recording *recording, struct wp_error *err)
{
    if (!recording->options->command)
        return 0;
    int rc = wp_child_start(&recording->command,
        &(struct wp_child_options){.name = recording->options->command[0],
            .path = recording->command_path,
            .argv = recording->options->command,
            .kind = WP_CHILD_COMMAND,
            .mask = &recording->supervisor.previous,
            .file_mask = recording->file_mask,
            .log_fd = -1,
            .keep_fd = -1,
            .is_held = true},
        err);
    recording->parts.command_pid = recording->command.pid;
    recording->parts.command_path = recording->command_path;
    return rc;
}

static int start(struct recording *recording, struct wp_error *err)
{
    int aggregator_fd = -1, collector_fd = -1;
    print_progress(recording, "starting tracing");
    int rc = hold_command(recording, err);
    if (!rc)
        rc = wp_parts_start_aggregator(&recording->parts, &recording->aggregator, &aggregator_fd, err);
    if (!rc) /* it takes longer, and connects when the other listens */
        rc = wp_parts_start_collector(&recording->parts, &recording->collector, &collector_fd, err);
    if (!rc)
        rc = await_ready(recording, &recording->aggregator, &aggregator_fd, err);
    if (!rc)
        rc = await_ready(recording, &recording->collector, &collector_fd, err);
    if (aggregator_fd >= 0)
        close(aggregator_fd);
    if (collector_fd >= 0)
        close(collector_fd);
    return rc;
}

static bool is_recorded(const struct recording *recording)
{
    return recording->is_over || (recording->options->command && !recording->command.running);
}

/* What is shown meanwhile; a command's own words go on beside it. */
static void begin_view(struct recording *recording, FILE *print)
{
    const struct wp_record_options *options = recording->options;
    struct wp_live_view_options view = {.record = options,
        .store = recording->output.store,
        .release = recording->release,
        .what = options->top.is_on ? options->top.title : "recording",
        .say = recording->say,
        .print = print};
    wp_live_view_begin(&recording->view, &view);
}

/* The deadline, or when the view is to be refreshed before it. */
static uint64_t next_deadline(const struct recording *recording, uint64_t deadline)
{
    uint64_t next = recording->view.next_ns;
    return next && (!deadline || next < deadline) ? next : deadline;
}

/* Until CMD has ended, or for the duration. A part that dies meanwhile does not touch CMD: it shows afterwards. */
static int record(struct recording *recording, struct wp_error *err)
{
    uint64_t limit = recording->options->duration_ns, begin = wp_supervisor_now();
    uint64_t deadline = limit ? begin + limit : 0;
    recording->stage = STAGE_RECORDING;
    print_progress(recording,
        recording->options->command   ? "recording"
            : recording->options->pid ? "recording the process, ^C ends it"
                                      : "recording the whole host, ^C ends it");
    int rc = recording->options->command ? wp_child_release(&recording->command, err) : 0;
    while (!rc && !is_recorded(recording)) {
        struct wp_wake wake;
        uint64_t until = next_deadline(recording, deadline);
        rc = wp_supervisor_wait(&recording->supervisor, recording->process_fd, until, &wake, err);
        if (!rc && wake.kind == WP_WAKE_DEADLINE && until != deadline) {
            rc = wp_live_view_tick(&recording->view, err);
            recording->is_over |= rc == -EPIPE || (recording->options->top.is_once && recording->view.shown_ns);
            rc = rc == -EPIPE ? 0 : rc;
            continue;
        }
        if (!rc && wake.kind == WP_WAKE_SIGNAL)
            take_signal(recording, &wake);
        recording->is_process_over |= !rc && wake.kind == WP_WAKE_READABLE;
        recording->is_over |= recording->is_process_over;
        if (recording->gave_up)
            return wp_error_set(err, -ECANCELED, "interrupted twice: the recording was given up");
        if (!rc && wake.kind == WP_WAKE_DEADLINE && !recording->options->command)
            break;
        if (!rc && wake.kind == WP_WAKE_DEADLINE) { /* CMD goes on, unrecorded */
            wp_child_signal(&recording->collector, SIGTERM);
            wp_live_view_end(&recording->view);
            deadline = 0;
        }
        if (!rc && wake.kind == WP_WAKE_CHILD && recording->options->top.is_on) /* nothing is left to look at */
            return wp_parts_explain(&recording->parts, wake.child, "failed during the recording", err);
        if (!rc && wake.kind == WP_WAKE_CHILD && !recording->options->command)
            break;
    }
    recording->watched_ns = recording->options->command ? 0 : wp_supervisor_now() - begin;
    return rc;
}

static int check_end(struct recording *recording, struct wp_child *child, const char *what, struct wp_error *err)
{
    return wp_child_exit_code(child) ? wp_parts_explain(&recording->parts, child, what, err) : 0;
}

/* For the pages: a recording is whole without it. */
static void note_command(struct recording *recording)
{
    char directory[PATH_MAX];
    struct wp_command_note note = {.root = recording->output.store,
        .release = recording->release,
        .line = (const char *)recording->line.data,
        .workload = recording->options->workload,
        .directory = getcwd(directory, sizeof(directory)),
        .commit = &recording->commit,
        .is_unsynced = recording->output.is_own_store,
        .child = recording->options->command ? &recording->command : NULL};
    struct wp_error ignored;
    wp_command_note(&note, recording->aggregate, &ignored);
}

/* A collector fails when its aggregator does, whose word is the reason then. */
static int check_collector(struct recording *recording, struct wp_error *err)
{
    struct wp_error ignored;
    if (has_failed(&recording->collector))
        await(recording, &recording->aggregator, -1, FOLLOW_LIMIT, &ignored);
    bool is_other = has_failed(&recording->aggregator);
    return check_end(
        recording, is_other ? &recording->aggregator : &recording->collector, "failed during the recording", err);
}

/* The collector sends what it has and says goodbye; the aggregator then resolves and ends by itself. */
static int finish(struct recording *recording, struct wp_error *err)
{
    recording->stage = STAGE_FINISHING;
    print_progress(recording, "resolving who waited for whom");
    if (has_failed(&recording->aggregator))
        return wp_parts_explain(&recording->parts, &recording->aggregator, "failed during the recording", err);
    wp_child_signal(&recording->collector, SIGTERM);
    if (recording->options->release || strcmp(recording->release, WP_RELEASE_UNVERSIONED) != 0)
        wp_command_commit(&recording->commit, recording->release); /* while the collector ends */
    int rc = await(recording, &recording->collector, -1, DRAIN_LIMIT, err);
    if (!rc)
        rc = check_collector(recording, err);
    if (!rc)
        rc = await(recording, &recording->aggregator, -1, RESOLVE_LIMIT, err);
    if (!rc)
        rc = check_end(recording, &recording->aggregator, "failed", err);
    if (!rc)
        note_command(recording);
    if (!rc)
        rc = wp_output_dir_keep_store(&recording->output, err);
    recording->keep_store = !rc;
    return rc;
}

static void find_capture(struct recording *recording)
{
    char path[PATH_MAX];
    struct stat st;
    if (wp_output_dir_has_capture(&recording->output) && !recording->options->capture &&
        (size_t)snprintf(path, sizeof(path), "%s/" WP_OWN_CAPTURE, recording->output.store) < sizeof(path) &&
        !stat(path, &st))
        recording->capture_size = st.st_size;
    recording->parts.has_capture = recording->capture_size > 0;
}

static int report(struct recording *recording, struct wp_error *err)
{
    recording->stage = STAGE_REPORTING;
    find_capture(recording);
    print_progress(recording, "reporting");
    int rc = wp_parts_start_reporter(&recording->parts, &recording->reporter, err);
    if (!rc)
        rc = await(recording, &recording->reporter, -1, REPORT_LIMIT, err);
    if (!rc)
        rc = check_end(recording, &recording->reporter, "failed", err);
    if (!rc)
        rc = await(recording, &recording->collector, -1, DRAIN_LIMIT, err);
    if (!rc)
        rc = check_end(recording, &recording->collector, "failed after the recording", err);
    return rc && !recording->gave_up
        ? wp_error_wrap(err, rc, "what was recorded is in '%s' (wakepath-reporter --store makes pages of it)",
              recording->output.store)
        : rc;
}

static const char *whole_page(const char *page, char whole[PATH_MAX])
{
    return realpath(page, whole) ? whole : page;
}

/* Of the recording, in a site that may have other commands of the release. */
static void find_page(const struct recording *recording, const char *name, char path[PATH_MAX])
{
    struct wp_buffer folder = {0};
    if (strchr(recording->aggregate, '~')) {
        wp_page_id_folder(&folder, recording->release);
        wp_buffer_putc(&folder, '/');
        wp_page_id_folder(&folder, recording->aggregate);
        wp_buffer_putc(&folder, '/');
    }
    wp_buffer_putc(&folder, 0);
    snprintf(path, PATH_MAX, "%.*s/%s%s", PATH_MAX - 512, recording->output.out,
        folder.failed ? "" : (const char *)folder.data, name);
    wp_buffer_fini(&folder);
}

static int print_summary(const struct recording *recording, FILE *print, struct wp_error *err)
{
    char summary[PATH_MAX], page[PATH_MAX], whole[PATH_MAX];
    struct wp_buffer text = {0};
    find_page(recording, "summary.json", summary);
    find_page(recording, "index.html", page);
    const struct wp_record_summary_look look = {whole_page(page, whole), recording->watched_ns};
    int rc = recording->options->is_json ? wp_file_read(summary, 64u << 20, &text, err)
                                         : wp_record_summary_make(&text, summary, &look, err);
    FILE *out = recording->options->is_json ? print : recording->say;
    if (!rc && (recording->options->is_json || !recording->options->is_quiet))
        if (fwrite(text.data, 1, text.size, out) != text.size || fflush(out)) {
            rc = wp_error_errno(err, -errno, "cannot write the summary");
            wp_standard_output_drop(out); /* it is told once */
        }
    if (!rc && !recording->options->is_json && !recording->options->is_quiet && recording->capture_size)
        fprintf(out, "  pages of any process: wakepath view %s (of its events, %.1f MB)\n", recording->output.out,
            (double)recording->capture_size / 1e6);
    const struct wp_earlier_report *earlier = &recording->output.earlier;
    if (!rc && !recording->options->is_json && !recording->options->is_quiet && earlier->is_kept)
        fprintf(out, "  the report before it: %s\n", earlier->path);
    else if (!rc && !recording->options->is_json && !recording->options->is_quiet && earlier->is_taken)
        fprintf(out, "  the report before it is replaced: no recording kept what is in %s\n", earlier->path);
    if (!rc && recording->options->is_opened) {
        struct wp_error reason = {0};
        pid_t opener;
        if (wp_open_page(whole_page(page, whole), &opener, &reason) || wp_open_page_failed(&opener, OPENER_MS, &reason))
            fprintf(recording->say, "wakepath: %s\n", reason.text);
    }
    if (!rc && !recording->options->command) /* else the status is the command's */
        rc = wp_record_summary_check(summary, recording->is_process_over ? recording->options->pid : 0, err);
    wp_buffer_fini(&text);
    return rc;
}

static int await_own(struct recording *recording, uint64_t deadline_ns, struct wp_error *err)
{
    int rc = 0;
    while (!rc) {
        uint64_t now = wp_supervisor_now();
        if (now >= deadline_ns)
            return wp_error_set(
                err, -ETIMEDOUT, "they take longer than %llu s", (unsigned long long)(OWN_LIMIT / SECOND));
        rc = await(recording, &recording->own.child, -1, deadline_ns - now, err);
        if (!rc)
            rc = wp_own_pages_step(&recording->own, err);
    }
    return rc;
}

/* Its reader waits for the end. The descriptor stays taken: the next one that is opened must not be a standard one. */
static void end_json(FILE *print)
{
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null >= 0) {
        dup2(null, fileno(print));
        close(null);
    }
}

/* Beside the recording, which is whole: what of this fails or is given up is not there, and the pages say how it is
 * made. Who reads the JSON does not wait for them. */
static void make_own_pages(struct recording *recording, FILE *print)
{
    char summary[PATH_MAX], capture[PATH_MAX];
    struct wp_own_page pages[WP_BUSIEST];
    struct wp_error ignored = {0};
    const struct wp_own_pages_options options = {.capture = capture,
        .folder = recording->output.scratch.path,
        .out = recording->output.store,
        .mask = &recording->supervisor.previous};
    unsigned count = 0, listed = 0;
    find_page(recording, "summary.json", summary);
    snprintf(capture, sizeof(capture), "%.*s/" WP_OWN_CAPTURE, PATH_MAX - 16, recording->output.store);
    if (!recording->capture_size || recording->capture_size > OWN_CAPTURE_LIMIT ||
        wp_busiest_choose(summary, (uint32_t)recording->command.pid, pages, &count, &ignored) || !count)
        return;
    recording->stage = STAGE_WHOLE;
    if (recording->options->is_json)
        end_json(print);
    print_progress(recording, "making pages of the busiest processes");
    if (!wp_own_pages_begin(&recording->own, &options, pages, count, &ignored))
        await_own(recording, wp_supervisor_now() + OWN_LIMIT, &ignored);
    wp_own_pages_end(&recording->own);
    wp_busiest_list(recording->output.store, pages, count, &listed, &ignored);
}

/* Everything that can be known to fail is asked before CMD runs. Returns the exit status to end with, 0: go on. */
static int prepare(struct recording *recording, struct wp_error *err)
{
    const struct wp_record_options *options = recording->options;
    if (options->command) {
        int rc = wp_program_resolve(options->command[0], recording->command_path, sizeof(recording->command_path), err);
        if (rc)
            return rc == -EACCES ? 126 : 127;
        if (!options->has_no_line)
            wp_command_line(&recording->line, options->command);
    }
    if (recording->line.failed) {
        wp_error_set(err, -ENOMEM, "out of memory for a command line");
        return WP_EXIT_FAILURE;
    }
    if (options->pid && (recording->process_fd = (int)syscall(SYS_pidfd_open, (pid_t)options->pid, 0)) < 0) {
        wp_error_errno(err, -errno, "cannot attach to process %u", (unsigned)options->pid);
        return WP_EXIT_FAILURE;
    }
    if (wp_privilege_check(err))
        return WP_EXIT_FAILURE;
    if (options->release)
        snprintf(recording->release, sizeof(recording->release), "%s", options->release);
    else
        wp_release_here(recording->release, sizeof(recording->release), GIT_LIMIT_MS);
    const struct wp_output_dir_options output = {options->out, options->store, recording->release};
    return wp_output_dir_prepare(&recording->output, &output, err) ? WP_EXIT_FAILURE : WP_EXIT_OK;
}

static void end_children(struct recording *recording)
{
    wp_child_end(&recording->command, recording->stage == STAGE_RECORDING ? 2000 : 0);
    wp_child_end(&recording->collector, 0);
    wp_child_end(&recording->aggregator, 0);
    wp_child_end(&recording->reporter, 1000); /* it removes its unfinished tree */
    wp_child_fini(&recording->command);
    wp_child_fini(&recording->collector);
    wp_child_fini(&recording->aggregator);
    wp_child_fini(&recording->reporter);
}

static int exit_code(const struct recording *recording, int rc)
{
    int code = recording->options->command && recording->stage != STAGE_STARTING && !recording->command.running
        ? wp_child_exit_code(&recording->command)
        : WP_EXIT_OK;
    if (recording->gave_up && recording->stage != STAGE_WHOLE)
        return 128 + recording->gave_up;
    return code || !rc ? code : WP_EXIT_FAILURE;
}

/* Records and shows what is found meanwhile. */
static int watch(struct recording *recording, FILE *print, struct wp_error *err)
{
    int rc = start(recording, err);
    if (rc)
        return rc;
    begin_view(recording, print);
    rc = record(recording, err);
    if (!rc && recording->options->top.is_on && !recording->view.waits.now.count)
        rc = wp_error_set(
            err, -ENOENT, "nothing of %s was seen: no thread that ran or woke fits it", recording->options->top.title);
    wp_live_view_end(&recording->view);
    return rc;
}

static int run(struct recording *recording, FILE *print, struct wp_error *err)
{
    bool has_report = !recording->options->top.is_on;
    int rc = watch(recording, print, err);
    if (!rc && has_report)
        rc = finish(recording, err);
    if (!rc && has_report)
        rc = report(recording, err);
    if (!rc && has_report)
        rc = print_summary(recording, print, err);
    if (!rc && has_report)
        make_own_pages(recording, print);
    int code = exit_code(recording, rc);
    end_children(recording);
    return code;
}

int wp_record_run(const struct wp_record_options *options, FILE *say_to, FILE *print, struct wp_error *err)
{
    struct recording recording = {.options = options,
        .say = say_to,
        .command = WP_CHILD_NONE,
        .aggregator = WP_CHILD_NONE,
        .collector = WP_CHILD_NONE,
        .reporter = WP_CHILD_NONE,
        .own = {.child = WP_CHILD_NONE},
        .process_fd = -1};
    recording.file_mask =
        umask(0077); /* what a host did is for who recorded it: the store and the pages as the capture */
    int code = prepare(&recording, err);
    if (!code && wp_supervisor_init(&recording.supervisor, err)) {
        code = WP_EXIT_FAILURE;
    } else if (!code) {
        recording.parts = (struct wp_parts){.options = options,
            .output = &recording.output,
            .release = recording.release,
            .line = (const char *)recording.line.data,
            .mask = &recording.supervisor.previous};
        struct wp_child *children[] = {
            &recording.command, &recording.aggregator, &recording.collector, &recording.reporter, &recording.own.child};
        for (size_t i = 0; i < sizeof(children) / sizeof(children[0]); i++)
            wp_supervisor_add(&recording.supervisor, children[i]);
        code = run(&recording, print, err);
        wp_supervisor_fini(&recording.supervisor);
        wp_parts_fini(&recording.parts);
    }
    wp_output_dir_fini(&recording.output, !recording.keep_store);
    if (recording.process_fd >= 0)
        close(recording.process_fd);
    wp_buffer_fini(&recording.line);
    umask(recording.file_mask);
    return code;
}
