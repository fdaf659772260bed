/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/import_parts.h"

#include "common/path.h"
#include "proto/frame.h"
#include "proto/session.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define HELLO_BYTES (1u << 20)
#define WORDS (24u + 2 * WP_TOOL_GIVEN)

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

int wp_origin_read(struct wp_origin *origin, const char *path, struct wp_error *err)
{
    struct wp_buffer bytes = {0};
    struct wp_frame frame;
    struct wp_hello hello = {0};
    struct wp_error why = {0};
    struct wp_frame_reader *reader = wp_frame_reader_create();
    int rc = reader ? read_start(path, &bytes, err) : wp_error_set(err, -ENOMEM, "out of memory");
    if (!rc && (wp_frame_read(reader, bytes.data, bytes.size, &frame, &why) || frame.type != WP_FRAME_HELLO ||
            wp_hello_decode(&hello, frame.payload, frame.size, &why)))
        rc = wp_error_set(err, -EINVAL, "'%s' is no capture%s%s", path, *why.text ? ": " : "", why.text);
    for (int i = 0, at = 0; !rc && i < 16; i++)
        at += snprintf(origin->session + at, sizeof(origin->session) - (size_t)at, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
            hello.session[i]);
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

static int start(pid_t *child, const char *folder, const char *name, const struct line *line, struct wp_error *err)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    *child = fork();
    if (*child < 0)
        return wp_error_errno(err, -errno, "cannot start '%s'", path);
    if (*child)
        return 0;
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    execv(path, (char *const *)(uintptr_t)line->words);
    fprintf(stderr, "wakepath-store: cannot run '%s': %s\n", path, strerror(errno));
    _exit(127);
}

static int end_of(pid_t child, const char *what, struct wp_error *err)
{
    int status;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return wp_error_errno(err, -errno, "cannot wait for the %s", what);
    return !status ? 0 : wp_error_set(err, -EIO, "the %s failed", what);
}

/* The programs stand beside this one. */
static int own_folder(char folder[PATH_MAX], struct wp_error *err)
{
    ssize_t size = readlink("/proc/self/exe", folder, PATH_MAX - 1);
    if (size <= 0)
        return wp_error_errno(err, -errno, "cannot tell where this program is");
    folder[size] = 0;
    *strrchr(folder, '/') = 0;
    return 0;
}

static int start_aggregator(const struct wp_import_options *o, const char *folder, const char *endpoint, pid_t *child, struct wp_error *err)
{
    struct line line = {{"wakepath-aggregator", "--no-config", "--no-resume", "--bind", endpoint, "--store", o->root, "--release", o->release,
        "--shard", o->shard, "--exit-after-sessions", "1", "--late-after", "never" /* nobody waited for it */, "--log-level", "warn", "--ready-fd"}, 18};
    int ready[2];
    char fd[16], byte;
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
    }
    int rc = start(child, folder, "wakepath-aggregator", &line, err);
    close(ready[1]);
    bool is_ready = !rc && read(ready[0], &byte, 1) == 1;
    close(ready[0]);
    if (rc || is_ready)
        return rc;
    rc = end_of(*child, "aggregator", err);
    *child = -1;
    return rc ? rc : wp_error_set(err, -EIO, "the aggregator ended before it began");
}

int wp_import_run(const struct wp_import_options *o, struct wp_error *err)
{
    char folder[PATH_MAX], place[PATH_MAX], endpoint[PATH_MAX + 16], source[PATH_MAX + 16];
    const char *temporary = getenv("TMPDIR");
    pid_t aggregator = -1, collector = -1;
    int rc = own_folder(folder, err);
    if (rc)
        return rc;
    snprintf(place, sizeof(place), "%s/wakepath-import-XXXXXX", temporary && *temporary == '/' ? temporary : "/tmp");
    if (!mkdtemp(place))
        return wp_error_errno(err, -errno, "cannot make the folder '%s'", place);
    snprintf(endpoint, sizeof(endpoint), "ipc://%s/s", place);
    snprintf(source, sizeof(source), "capture:%s", o->capture);
    struct line line = {{"wakepath-collector", "--no-config", "--source", source, "--release", o->release, "--connect", endpoint, "--spool",
        "none", "--log-level", "warn"}, 12};
    rc = start_aggregator(o, folder, endpoint, &aggregator, err);
    if (!rc)
        rc = start(&collector, folder, "wakepath-collector", &line, err);
    if (collector > 0)
        rc = end_of(collector, "collector", err);
    if (rc && aggregator > 0)
        kill(aggregator, SIGTERM);
    if (aggregator > 0) {
        int last = end_of(aggregator, "aggregator", rc ? NULL : err);
        rc = rc ? rc : last;
    }
    wp_path_remove(place, NULL);
    return rc;
}
