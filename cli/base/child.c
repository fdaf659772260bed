/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/base/child.h"

#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define GROUP_PAUSE_MS 5
#define GROUP_GONE_MS 2000 /* what was killed is collected by then */

struct pipes {
    int gate[2], exec[2];
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void pipes_close(struct pipes *pipes)
{
    for (int i = 0; i < 2; i++) {
        close_fd(&pipes->gate[i]);
        close_fd(&pipes->exec[i]);
    }
}

static ssize_t read_whole(int fd, void *bytes, size_t size)
{
    ssize_t got;
    do
        got = read(fd, bytes, size);
    while (got < 0 && errno == EINTR);
    return got;
}

/* What a login would say of who it is; a build looks for its caches there. */
static void set_home(uid_t user)
{
    static const char *const foreign[] = {
        "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR", "USER", "LOGNAME"};
    for (size_t i = 0; i < sizeof(foreign) / sizeof(*foreign); i++)
        unsetenv(foreign[i]);
    struct passwd entry, *found = NULL;
    char text[4096];
    if (getpwuid_r(user, &entry, text, sizeof(text), &found) || !found) {
        setenv("HOME", "/nonexistent", 1);
        return;
    }
    setenv("HOME", entry.pw_dir, 1);
    setenv("USER", entry.pw_name, 1);
    setenv("LOGNAME", entry.pw_name, 1);
}

/* 0 or errno, also where the owner is not known: nothing runs as root then. */
static int become_owner(int dir)
{
    struct stat st;
    if (fstat(dir, &st))
        return errno;
    if (geteuid() || !st.st_uid)
        return 0;
    set_home(st.st_uid);
    return setgroups(0, NULL) || setresgid(st.st_gid, st.st_gid, st.st_gid) ||
            setresuid(st.st_uid, st.st_uid, st.st_uid)
        ? errno
        : 0;
}

/* Opens the folder once: who owns it and where the child is are of one folder, whatever is renamed meanwhile. */
static int enter(const struct wp_child_options *options)
{
    if (!options->dir)
        return options->is_build ? EINVAL : 0;
    int dir = open(options->dir, O_PATH | O_DIRECTORY | O_CLOEXEC | (options->is_build ? O_NOFOLLOW : 0));
    if (dir < 0)
        return errno;
    int failure = fchdir(dir) ? errno : options->is_build ? become_owner(dir) : 0;
    close(dir);
    return failure;
}

/* In the child: a part of ours neither hears the terminal nor outlives us. */
static int become_part(const struct wp_child_options *options, pid_t parent)
{
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    signal(SIGPIPE, SIG_DFL); /* we may ignore it, and an exec keeps that */
    if (null < 0 || dup2(null, 0) < 0 || dup2(options->log_fd, 1) < 0 || dup2(options->log_fd, 2) < 0)
        return errno;
    int failure = enter(options); /* another user clears what prctl sets: before that */
    if (failure)
        return failure;
    /* Not SIGTERM, at which a collector delivers what it has: nobody is left who would take it. */
    if (setpgid(0, 0) || prctl(PR_SET_PDEATHSIG, SIGKILL))
        return errno;
    return getppid() == parent ? 0 : ESRCH; /* it may have died before the prctl */
}

static void child_main(const struct wp_child_options *options, struct pipes *pipes, pid_t parent)
{
    char go;
    int failure = options->kind == WP_CHILD_PART ? become_part(options, parent) : 0;
    close_fd(&pipes->gate[1]); /* else this read would never see that our parent is gone */
    if (options->is_held && read_whole(pipes->gate[0], &go, 1) != 1)
        _exit(127);
    if (options->kind == WP_CHILD_COMMAND) {
        umask(options->file_mask);
        prctl(PR_SET_PDEATHSIG, SIGHUP); /* as when its terminal goes: it may mind, or not (nohup) */
    }
    if (options->keep_fd >= 0)
        fcntl(options->keep_fd, F_SETFD, 0);
    if (!failure) {
        sigprocmask(SIG_SETMASK, options->mask, NULL);
        execvp(options->path, options->argv); /* the path has a '/': no search, but scripts without "#!" run */
        failure = errno;
    }
    ssize_t done = write(pipes->exec[1], &failure, sizeof(failure));
    (void)done;
    _exit(failure == ENOENT ? 127 : 126);
}

static int await_exec(struct wp_child *child, struct wp_error *err)
{
    int failure = 0;
    ssize_t got = read_whole(child->exec_fd, &failure, sizeof(failure));
    close_fd(&child->exec_fd);
    if (got != sizeof(failure))
        return 0;
    waitpid(child->pid, &child->status, 0);
    child->running = false;
    return wp_error_errno(err, -failure, "cannot run '%.300s'", child->name);
}

int wp_child_start(struct wp_child *child, const struct wp_child_options *options, struct wp_error *err)
{
    struct pipes pipes = {{-1, -1}, {-1, -1}};
    pid_t parent = getpid();
    *child = (struct wp_child)WP_CHILD_NONE;
    child->name = options->name;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pipes.gate) || pipe2(pipes.exec, O_CLOEXEC)) {
        int rc = wp_error_errno(err, -errno, "cannot start '%.300s'", options->name);
        pipes_close(&pipes);
        return rc;
    }
    pid_t pid = fork();
    if (pid == 0)
        child_main(options, &pipes, parent);
    int rc = pid < 0 ? -errno : 0;
    if (!rc) {
        child->pid = pid;
        child->running = true;
        child->pidfd = pidfd_open(pid, 0);
        rc = child->pidfd < 0 ? -errno : 0;
        child->leads_group = !rc && options->is_build;
    }
    if (rc) {
        pipes_close(&pipes);
        wp_child_end(child, 0);
        return wp_error_errno(err, rc, "cannot start '%.300s'", options->name);
    }
    child->gate_fd = pipes.gate[1];
    child->exec_fd = pipes.exec[0];
    close(pipes.gate[0]);
    close(pipes.exec[1]);
    return options->is_held ? 0 : wp_child_release(child, err);
}

int wp_child_release(struct wp_child *child, struct wp_error *err)
{
    ssize_t done = send(child->gate_fd, "g", 1, MSG_NOSIGNAL); /* a killed child shows in what follows */
    (void)done;
    close_fd(&child->gate_fd);
    child->started_ns = wp_clock_ns();
    return await_exec(child, err);
}

void wp_child_signal(const struct wp_child *child, int signal)
{
    if (child->running)
        kill(child->pid, signal);
}

bool wp_child_reap(struct wp_child *child)
{
    if (child->running && wait4(child->pid, &child->status, WNOHANG, &child->usage) == child->pid) {
        child->running = false;
        child->ended_ns = wp_clock_ns();
    }
    return child->pid && !child->running;
}

static bool await_empty_group(pid_t group, int within_ms)
{
    const struct timespec pause = {.tv_nsec = GROUP_PAUSE_MS * 1000000};
    for (int waited = 0; !kill(-group, 0); waited += GROUP_PAUSE_MS) {
        if (waited >= within_ms)
            return false;
        nanosleep(&pause, NULL);
    }
    return true;
}

/* No process takes the leader's number as long as it is a group's. */
static void end_group(struct wp_child *child, int grace_ms)
{
    if (!child->leads_group)
        return;
    child->leads_group = false;
    if (!kill(-child->pid, SIGTERM) && !await_empty_group(child->pid, grace_ms) && !kill(-child->pid, SIGKILL))
        await_empty_group(child->pid, GROUP_GONE_MS);
}

static void end_leader(struct wp_child *child, int grace_ms)
{
    if (!child->running || wp_child_reap(child))
        return;
    pid_t whom = child->leads_group ? -child->pid : child->pid;
    close_fd(&child->gate_fd); /* a held child goes by itself */
    if (grace_ms) {
        struct pollfd ended = {.fd = child->pidfd, .events = POLLIN};
        kill(whom, SIGTERM);
        poll(&ended, 1, grace_ms);
    }
    if (!wp_child_reap(child)) {
        kill(child->pid, SIGKILL);
        while (waitpid(child->pid, &child->status, 0) < 0 && errno == EINTR)
            ;
        child->running = false;
    }
}

void wp_child_end(struct wp_child *child, int grace_ms)
{
    end_leader(child, grace_ms);
    end_group(child, grace_ms);
}

int wp_child_exit_code(const struct wp_child *child)
{
    return WIFSIGNALED(child->status) ? 128 + WTERMSIG(child->status) : WEXITSTATUS(child->status);
}

void wp_child_fini(struct wp_child *child)
{
    close_fd(&child->pidfd);
    close_fd(&child->gate_fd);
    close_fd(&child->exec_fd);
}
