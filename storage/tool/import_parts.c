/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/tool/import_parts.h"

#include "common/buffer.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/path.h"
#include "common/scratch.h"
#include "proto/frame.h"
#include "proto/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HELLO_BYTES (1u << 20)
#define WORDS (24u + 2 * WP_TOOL_GIVEN)
#define SOCKET WP_SCRATCH_IMPORT_SOCKET
#define LOG_BYTES (16u << 20)
#define END_MS 60000u   /* for a program that was asked to end */
#define LAST_MS 600000u /* for the aggregator's last epochs and their commit, once the collector has delivered all */

/* --- what it says of itself --- */

static int read_start(const char *path, struct wp_buffer *bytes, struct wp_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot open '%s'", path);
    int rc = wp_buffer_reserve(bytes, HELLO_BYTES);
    ssize_t got = rc ? 0 : read(fd, bytes->data, HELLO_BYTES);
    if (!rc && got < 0)
        rc = -errno;
    close(fd);
    bytes->size = got > 0 ? (size_t)got : 0;
    return rc ? wp_error_errno(err, rc, "cannot read '%s'", path) : 0;
}

int wp_origin_read(struct wp_import_origin *origin, const char *path, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    struct wp_frame frame;
    struct wp_hello hello = {0};
    struct wp_error why = {0};
    struct wp_frame_reader *reader = wp_frame_reader_create();
    int rc = reader ? read_start(path, &bytes, err) : wp_error_set(err, -ENOMEM, "out of memory");
    if (!rc &&
        (wp_frame_read(reader, bytes.data, bytes.size, &frame, &why) || frame.type != WP_FRAME_HELLO ||
            wp_hello_decode(&hello, frame.payload, frame.size, &why)))
        rc = wp_error_set(err, -EINVAL, "'%s' is not a capture%s%s", path, *why.text ? ": " : "", why.text);
    for (int i = 0, at = 0; !rc && i < 16; i++)
        at += snprintf(origin->session + at, sizeof(origin->session) - (size_t)at, "%s%02x",
            i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", hello.session[i]);
    if (!rc)
        snprintf(origin->release, sizeof(origin->release), "%s", hello.release ? hello.release : "");
    wp_hello_fini(&hello);
    wp_frame_reader_destroy(reader);
    wp_buffer_fini(&bytes);
    return rc;
}

/* --- the two programs --- */

struct line {
    const char *words[WORDS];
    unsigned count;
};

static void add(struct line *line, const char *word)
{
    if (line->count < WORDS - 1)
        line->words[line->count++] = word;
}

/* Where the two programs stand, and what they say: it is told when they have ended. */
struct place {
    char folder[PATH_MAX];
    int log_fd; /* -1: they say it themselves */
};

static int start(
    pid_t *child, const struct place *place, const char *name, const struct line *line, struct wp_error *err)
{
    char path[PATH_MAX + 64];
    pid_t parent = getpid();
    snprintf(path, sizeof(path), "%s/%s", place->folder, name);
    *child = fork();
    if (*child < 0)
        return wp_error_errno(err, -errno, "cannot start '%s'", path);
    if (*child)
        return 0;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent) /* it died before the prctl */
        _exit(127);
    if (place->log_fd >= 0)
        dup2(place->log_fd, STDERR_FILENO);
    execv(path, (char *const *)(uintptr_t)line->words);
    fprintf(stderr, "wakepath-store: cannot run '%s': %s\n", path, strerror(errno));
    _exit(127);
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

/* Whether it has ended; a clean end is *status 0. */
static bool has_ended(pid_t child, int *status)
{
    pid_t got = waitpid(child, status, WNOHANG);
    if (got < 0 && errno != EINTR) /* somebody else's business: there is nothing to wait for */
        *status = -1;
    return got == child || (got < 0 && errno != EINTR);
}

/* A child that is overdue is asked to end; the next time it is killed. */
static void hurry(pid_t child, uint64_t *limit_ms, int *signal)
{
    if (wp_clock_ms() < *limit_ms)
        return;
    kill(child, *signal);
    *signal = SIGKILL; /* the next one */
    *limit_ms = wp_clock_ms() + END_MS;
}

/* Waits until it has ended; one that does not is asked to, then killed. */
static int end_of(pid_t child, const char *what, uint64_t within_ms, struct wp_error *err)
{
    uint64_t limit_ms = wp_clock_ms() + within_ms;
    int status, signal = SIGTERM;
    bool is_late = false;
    while (!has_ended(child, &status)) {
        is_late |= wp_clock_ms() >= limit_ms;
        hurry(child, &limit_ms, &signal);
        nap();
    }
    return is_late && within_ms ? wp_error_set(err, -ETIMEDOUT, "the %s had all and did not end", what)
        : status                ? wp_error_set(err, -EIO, "the %s failed", what)
                                : 0;
}

/* Until the collector has ended. Without an aggregator it would try for ever to reach one. */
static int replay(pid_t *aggregator, pid_t collector, struct wp_error *err)
{
    int status;
    while (!has_ended(collector, &status)) {
        int other;
        if (has_ended(*aggregator, &other)) {
            *aggregator = -1;
            if (!other) /* it has all, and the collector hears so or has heard it */
                return end_of(collector, "collector", END_MS, err);
            kill(collector, SIGKILL); /* it would try to deliver the rest, and the capture has it */
            end_of(collector, "collector", END_MS, NULL);
            return wp_error_set(err, -EIO, "the aggregator failed");
        }
        nap();
    }
    return status ? wp_error_set(err, -EIO, "the collector failed") : 0;
}

/* The programs stand beside this one. */
static int own_folder(char folder[PATH_MAX], struct wp_error *err)
{
    ssize_t size = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (size <= 0)
        return wp_error_errno(err, -errno, "cannot find the path of this program");
    folder[size] = 0;
    *strrchr(folder, '/') = 0;
    return 0;
}

static int start_aggregator(
    const struct wp_import_options *o, const struct place *at, const char *endpoint, pid_t *child, struct wp_error *err)
{
    struct line line = {{"wakepath-aggregator", "--no-config", "--no-resume", "--bind", endpoint, "--store", o->root,
                            "--release", o->release, "--shard", o->shard, "--exit-after-sessions", "1", "--late-after",
                            "never" /* nobody waited for it */, "--end-when-full" /* the capture stays */,
                            "--log-level", "warn", "--ready-fd"},
        19};
    int ready[2];
    char fd[16], byte;
    bool picks = false;
    if (pipe(ready))
        return wp_error_errno(err, -errno, "cannot start the aggregator");
    fcntl(ready[0], F_SETFD, FD_CLOEXEC);
    snprintf(fd, sizeof(fd), "%d", ready[1]);
    add(&line, fd);
    for (unsigned i = 0; i < o->tool->given_count; i++) {
        if (o->tool->given[i].option != WP_TOOL_AGGREGATE)
            continue;
        add(&line, "--aggregate");
        add(&line, o->tool->given[i].value);
        picks = true;
    }
    if (picks) /* what fits nothing adds nothing */
        add(&line, "--skip-empty");
    if (o->tool->values[WP_TOOL_SYSTEM]) {
        add(&line, "--system-window");
        add(&line, o->tool->values[WP_TOOL_SYSTEM]);
    }
    int rc = start(child, at, "wakepath-aggregator", &line, err);
    close(ready[1]);
    bool is_ready = !rc && read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    if (rc || is_ready)
        return rc;
    rc = end_of(*child, "aggregator", END_MS, err);
    *child = -1;
    return rc ? rc : wp_error_set(err, -EIO, "the aggregator ended before it began");
}

static int run_in(const struct wp_import_options *o, const struct place *at, const char *place, struct wp_error *err)
{
    char endpoint[WP_SCRATCH_ROOM + 16], source[PATH_MAX + 16];
    pid_t aggregator = -1, collector = -1;
    snprintf(endpoint, sizeof(endpoint), "ipc://%s/" SOCKET, place);
    snprintf(source, sizeof(source), "capture:%s", o->capture);
    struct line line = {{"wakepath-collector", "--no-config", "--source", source, "--release", o->release, "--connect",
                            endpoint, "--spool", "none", "--log-level", "warn"},
        12};
    int rc = start_aggregator(o, at, endpoint, &aggregator, err);
    if (!rc)
        rc = start(&collector, at, "wakepath-collector", &line, err);
    if (collector > 0)
        rc = replay(&aggregator, collector, err);
    if (aggregator > 0) {
        int last = end_of(aggregator, "aggregator", rc ? 0 : LAST_MS, rc ? NULL : err);
        rc = rc ? rc : last;
    }
    return rc;
}

/* A failure's reason is the last error that they logged; without one all that they logged is shown. */
static void tell_log(int log_fd, int rc, struct wp_error *err)
{
    struct wp_buffer log = {0};
    char path[32];
    snprintf(path, sizeof(path), "/proc/self/fd/%d", log_fd);
    wp_file_read(path, LOG_BYTES, &log, NULL);
    wp_buffer_putc(&log, 0);
    if (!rc && !log.failed)
        fputs((const char *)log.data, stderr);
    const char *words = rc && !log.failed ? wp_log_last_words((char *)log.data) : NULL;
    if (words) {
        struct wp_error what = *err;
        wp_error_set(err, rc, "%s", words);
        wp_error_wrap(err, rc, "%s", what.text);
    }
    wp_buffer_fini(&log);
}

int wp_import_run(const struct wp_import_options *o, struct wp_error *err)
{
    struct place at = {.log_fd = -1};
    struct wp_scratch scratch;
    int rc = own_folder(at.folder, err);
    if (!rc)
        rc = wp_scratch_make(&scratch, &wp_scratch_import, err);
    if (rc)
        return rc;
    at.log_fd = memfd_create("import", MFD_CLOEXEC); /* a full disk has no room for words either */
    rc = run_in(o, &at, scratch.path, err);
    wp_scratch_remove(&scratch);
    if (at.log_fd >= 0) {
        tell_log(at.log_fd, rc, err);
        close(at.log_fd);
    }
    return rc;
}

void wp_import_sweep(void)
{
    wp_scratch_sweep(&wp_scratch_import);
}
