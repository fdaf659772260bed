/* SPDX-License-Identifier: Apache-2.0 */
#include "common/git.h"

#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WORDS 24u
#define OWN_WORDS 5u
#define LIMIT_MS 120000
#define CANNOT_RUN 127

/* In the child. git refuses a repository of somebody else, and whose hooks and settings they are must not matter. */
static int become_owner(const char *dir)
{
    struct stat st;
    if (geteuid() || stat(dir, &st) || !st.st_uid)
        return 0;
    setenv("HOME", "/nonexistent", 1);
    unsetenv("XDG_CONFIG_HOME");
    return setgroups(0, NULL) || setresgid(st.st_gid, st.st_gid, st.st_gid) ||
        setresuid(st.st_uid, st.st_uid, st.st_uid);
}

/* What `git rev-parse --local-env-vars` lists: a hook's say which repository it is of, not `dir`. */
static void forget_repository(void)
{
    static const char *const names[] = {"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_CONFIG_PARAMETERS",
        "GIT_CONFIG_COUNT", "GIT_OBJECT_DIRECTORY", "GIT_DIR", "GIT_WORK_TREE", "GIT_IMPLICIT_WORK_TREE",
        "GIT_GRAFT_FILE", "GIT_INDEX_FILE", "GIT_NO_REPLACE_OBJECTS", "GIT_REPLACE_REF_BASE", "GIT_PREFIX",
        "GIT_INTERNAL_SUPER_PREFIX", "GIT_SHALLOW_FILE", "GIT_COMMON_DIR"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        unsetenv(names[i]);
}

static void git_main(const char *dir, const char *const *words, int in, int out, int complaint)
{
    const char *argv[OWN_WORDS + WORDS + 1] = {"git", "-c", "log.showSignature=false", "-C", dir};
    for (size_t i = 0; i < WORDS && words[i]; i++)
        argv[i + OWN_WORDS] = words[i];
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(complaint, 2) < 0 || become_owner(dir))
        _exit(CANNOT_RUN);
    forget_repository();
    setenv("GIT_OPTIONAL_LOCKS", "0", 1);
    setenv("GIT_TERMINAL_PROMPT", "0", 1);
    setenv("GIT_NO_LAZY_FETCH", "1", 1);
    setenv("GIT_ALLOW_PROTOCOL", "none", 1);
    setenv("LC_ALL", "C", 1);
    execvp("git", (char *const *)(size_t)argv);
    _exit(CANNOT_RUN);
}

static uint32_t most_ms(const struct wp_git_call *call)
{
    return call->limit_ms ? call->limit_ms : LIMIT_MS;
}

static int read_all(int fd, const struct wp_git_call *call, struct wp_buffer *out, struct wp_error *err)
{
    long long deadline = (long long)wp_clock_ms() + most_ms(call);
    size_t before = out->size;
    char bytes[65536];
    for (;;) {
        struct pollfd polled = {.fd = fd, .events = POLLIN};
        long long left = deadline - (long long)wp_clock_ms();
        if (left <= 0)
            return wp_error_set(err, -ETIMEDOUT, "git took more than %u ms", most_ms(call));
        if (poll(&polled, 1, (int)left) <= 0)
            continue;
        ssize_t got = read(fd, bytes, sizeof(bytes));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return wp_error_errno(err, -errno, "cannot read the output of git");
        if (!got)
            return 0;
        if (out->size - before + (size_t)got > call->limit)
            return wp_error_set(err, -EFBIG, "git prints more than %zu bytes", call->limit);
        if (wp_buffer_append(out, bytes, (size_t)got))
            return wp_error_set(err, -ENOMEM, "out of memory for the output of git");
    }
}

/* A nameless file with the input: git may read it when it likes. */
static int input_file(const struct wp_buffer *input)
{
    int fd = memfd_create("git-input", MFD_CLOEXEC);
    for (size_t at = 0; fd >= 0 && input && at < input->size;) {
        ssize_t put = write(fd, input->data + at, input->size - at);
        if (put < 0 && errno != EINTR) {
            close(fd);
            return -1;
        }
        at += put > 0 ? (size_t)put : 0;
    }
    if (fd >= 0)
        lseek(fd, 0, SEEK_SET);
    return fd;
}

static int complain(int status, int complaint, const char *dir, struct wp_error *err)
{
    char text[400] = "";
    if (WIFEXITED(status) && !WEXITSTATUS(status))
        return 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == CANNOT_RUN)
        return wp_error_set(err, -ENOENT, "cannot run git in %s", dir);
    ssize_t size = pread(complaint, text, sizeof(text) - 1, 0);
    text[size > 0 ? size : 0] = 0;
    text[strcspn(text, "\r\n")] = 0;
    return wp_error_set(err, -EINVAL, "git in %s: %s", dir, *text ? text : "failed without a word");
}

int wp_git_run(const char *dir, const char *const *words, size_t limit, struct wp_buffer *out, struct wp_error *err)
{
    return wp_git_call(&(struct wp_git_call){.dir = dir, .words = words, .limit = limit}, out, err);
}

int wp_git_call(const struct wp_git_call *call, struct wp_buffer *out, struct wp_error *err)
{
    int in = input_file(call->input), complaint = memfd_create("git-complaint", MFD_CLOEXEC), pipes[2] = {-1, -1},
        status = 0, rc;
    pid_t pid = -1;
    if (in < 0 || complaint < 0 || pipe2(pipes, O_CLOEXEC) || (pid = fork()) < 0) {
        rc = wp_error_errno(err, -errno, "cannot run git");
    } else if (!pid) {
        git_main(call->dir, call->words, in, pipes[1], complaint);
        _exit(CANNOT_RUN);
    } else {
        close(pipes[1]);
        pipes[1] = -1;
        rc = read_all(pipes[0], call, out, err);
        if (rc)
            kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        if (!rc)
            rc = complain(status, complaint, call->dir, err);
    }
    int fds[] = {in, complaint, pipes[0], pipes[1]};
    for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return rc;
}
