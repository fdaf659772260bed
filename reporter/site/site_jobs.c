/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_jobs.h"

#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct jobs {
    const struct wp_site_jobs *work;
    int queue[2], done[2]; /* pipes: numbers of releases, and a byte for each that is over */
    pid_t *workers;        /* owned */
    unsigned worker_count;
};

static void make_part(const struct jobs *jobs, uint32_t release)
{
    char out[PATH_MAX];
    struct wp_site_options alone = *jobs->work->options;
    struct wp_site_result result;
    alone.release = jobs->work->releases[release];
    alone.jobs = 1;
    alone.progress = NULL;
    alone.out = out;
    if ((size_t)snprintf(out, sizeof(out), "%s/%s", jobs->work->parts, alone.release) < sizeof(out))
        (void)!jobs->work->write(
            &alone, &result, NULL); /* no part is no error: it is made in the end, which says why */
}

/* A number is less than PIPE_BUF: each comes to one reader, whole. */
static void serve_queue(const struct jobs *jobs)
{
    uint32_t release;
    close(jobs->queue[1]);
    close(jobs->done[0]);
    while (read(jobs->queue[0], &release, sizeof(release)) == (ssize_t)sizeof(release)) {
        make_part(jobs, release);
        if (write(jobs->done[1], "", 1) != 1)
            break;
    }
    _exit(0);
}

static int start(struct jobs *jobs, pid_t parent, struct wp_error *err)
{
    pid_t pid = fork();
    if (pid < 0)
        return wp_error_errno(err, -errno, "cannot start another process");
    if (!pid) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() == parent)
            serve_queue(jobs);
        _exit(1);
    }
    jobs->workers[jobs->worker_count++] = pid;
    return 0;
}

static void tell_progress(const struct wp_site_options *options, size_t done, size_t total)
{
    if (options->progress)
        options->progress(options->progress_context, done, total);
}

/* Fills the queue as it empties, and hears of what is over; ends when no worker is left to be heard of. */
static void serve(struct jobs *jobs)
{
    size_t given = 0, done = 0;
    char byte;
    tell_progress(jobs->work->options, 0, jobs->work->count);
    while (given < jobs->work->count || jobs->queue[1] >= 0 || done < given) {
        while (given < jobs->work->count && given < done + 2u * jobs->worker_count) {
            uint32_t number = (uint32_t)given;
            if (write(jobs->queue[1], &number, sizeof(number)) != (ssize_t)sizeof(number))
                return;
            given++;
        }
        if (given == jobs->work->count && jobs->queue[1] >= 0) {
            close(jobs->queue[1]);
            jobs->queue[1] = -1;
        }
        ssize_t got = read(jobs->done[0], &byte, 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return;
        tell_progress(jobs->work->options, ++done, jobs->work->count);
    }
}

static void close_one(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void end(struct jobs *jobs)
{
    close_one(&jobs->queue[1]);
    for (unsigned i = 0; i < jobs->worker_count; i++)
        while (waitpid(jobs->workers[i], NULL, 0) < 0 && errno == EINTR)
            ;
    for (int i = 0; i < 2; i++) {
        close_one(&jobs->queue[i]);
        close_one(&jobs->done[i]);
    }
    free(jobs->workers);
}

int wp_site_jobs_run(const struct wp_site_jobs *site_jobs, struct wp_error *err)
{
    struct jobs jobs = {.work = site_jobs, .queue = {-1, -1}, .done = {-1, -1}};
    struct sigaction ignored = {.sa_handler = SIG_IGN}, before;
    unsigned workers =
        site_jobs->options->jobs < site_jobs->count ? site_jobs->options->jobs : (unsigned)site_jobs->count;
    pid_t self = getpid();
    jobs.workers = calloc(workers + 1u, sizeof(*jobs.workers));
    int rc = jobs.workers ? wp_path_make(site_jobs->parts, err)
                          : wp_error_set(err, -ENOMEM, "out of memory for %u jobs", workers);
    if (!rc && (pipe2(jobs.queue, O_CLOEXEC) || pipe2(jobs.done, O_CLOEXEC)))
        rc = wp_error_errno(err, -errno, "cannot make a pipe");
    for (unsigned i = 0; !rc && i < workers; i++)
        rc = start(&jobs, self, err);
    close_one(&jobs.queue[0]);
    close_one(&jobs.done[1]);
    sigaction(SIGPIPE, &ignored, &before); /* workers that are gone are no end of this one */
    if (!rc)
        serve(&jobs);
    end(&jobs);
    sigaction(SIGPIPE, &before, NULL);
    return rc;
}
