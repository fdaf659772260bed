/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/symbols/debug_fetch.h"

#include "collector/elf/elf_file.h"

#include <cap-ng.h>
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAIT_S 6               /* batches wait ten seconds for names */
#define DEBUG_MOST "536870912" /* bytes of one file, as the collector holds at most */

struct wp_debug_fetch {
    int fd;
    pid_t pid;
    uint32_t number; /* of the last question: a late answer is of another one */
};

struct question {
    uint32_t number, size;
    uint8_t build_id[WP_BUILD_ID_BYTES];
};

/* What is used of libdebuginfod.so.1 (elfutils, debuginfod/debuginfod.h); libdw loads it when it is needed too. */
struct library {
    void *(*begin)(void);
    int (*find)(void *client, const unsigned char *build_id, int size, char **path);
};

static bool load(struct library *l)
{
    void *handle = dlopen("libdebuginfod.so.1", RTLD_NOW);
    void *begin = handle ? dlsym(handle, "debuginfod_begin") : NULL;
    void *find = handle ? dlsym(handle, "debuginfod_find_debuginfo") : NULL;
    memcpy(&l->begin, &begin, sizeof(begin)); /* ISO C has no conversion of the two */
    memcpy(&l->find, &find, sizeof(find));
    return begin && find;
}

/* With a file, if fd >= 0. */
static int answer(int socket, uint32_t number, int fd)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec body = {&number, sizeof(number)};
    struct msghdr message = {.msg_iov = &body, .msg_iovlen = 1};
    if (fd >= 0) {
        message.msg_control = control.room;
        message.msg_controllen = sizeof(control.room);
        control.head =
            (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    }
    return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Its life: until nobody asks any more. */
static void serve(int socket, const struct library *library)
{
    struct question q;
    void *client = library->begin();
    while (client && recv(socket, &q, sizeof(q), 0) == sizeof(q) && q.size <= sizeof(q.build_id)) {
        int fd = library->find(client, q.build_id, (int)q.size, NULL);
        if (answer(socket, q.number, fd))
            break;
        if (fd >= 0)
            close(fd);
    }
}

/* Only what was said by who wants it counts, and what keeps it short. */
static void set_environment(const char *urls)
{
    setenv("DEBUGINFOD_URLS", urls, 1);
    setenv("DEBUGINFOD_MAXSIZE", DEBUG_MOST, 0);
    setenv("DEBUGINFOD_TIMEOUT", "30", 0);
    setenv("DEBUGINFOD_MAXTIME", "300", 0);
    setenv("DEBUGINFOD_PROGRESS", "", 1);
    unsetenv("DEBUGINFOD_VERBOSE");
}

static void become(int socket, const char *urls, pid_t parent)
{
    struct library library;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    prctl(PR_SET_NAME, "wp-debuginfod");
    signal(SIGINT, SIG_IGN); /* those are the collector's, and it ends this */
    signal(SIGTERM, SIG_DFL);
    if (getppid() != parent || dup2(socket, 3) < 0)
        _exit(1);
    close_range(4, ~0u, 0);
    capng_clear(CAPNG_SELECT_BOTH);
    if (capng_apply(CAPNG_SELECT_BOTH) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
        _exit(1);
    set_environment(urls);
    if (load(&library))
        serve(3, &library);
    _exit(0);
}

int wp_debug_fetch_start(struct wp_debug_fetch **fetch, const char *urls, struct wp_error *err)
{
    struct library library;
    struct timeval wait = {.tv_sec = WAIT_S};
    int ends[2];
    if (!load(&library))
        return wp_error_set(err, -ENOSYS, "libdebuginfod.so.1 is not there (package libdebuginfod1)");
    struct wp_debug_fetch *f = calloc(1, sizeof(*f));
    if (!f || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends)) {
        free(f);
        return wp_error_set(err, -ENOMEM, "no socket for what asks debuginfod servers");
    }
    pid_t parent = getpid();
    f->fd = ends[0];
    f->pid = fork();
    if (!f->pid)
        become(ends[1], urls, parent);
    close(ends[1]);
    setsockopt(f->fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof(wait));
    setsockopt(f->fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof(wait));
    if (f->pid < 0) {
        close(f->fd);
        free(f);
        return wp_error_errno(err, -errno, "cannot start what asks debuginfod servers");
    }
    *fetch = f;
    return 0;
}

void wp_debug_fetch_stop(struct wp_debug_fetch *f)
{
    if (!f)
        return;
    close(f->fd);
    kill(f->pid, SIGKILL);
    waitpid(f->pid, NULL, 0);
    free(f);
}

/* The next answer: its number and *fd, -1 for none. */
static int receive(const struct wp_debug_fetch *f, uint32_t *number, int *fd)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec body = {number, sizeof(*number)};
    struct msghdr message = {
        .msg_iov = &body, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control.room)};
    ssize_t size = recvmsg(f->fd, &message, MSG_CMSG_CLOEXEC);
    *fd = -1;
    if (size != sizeof(*number))
        return size < 0 && (errno == EAGAIN || errno == EINTR) ? -ETIMEDOUT : -ENOENT;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof(int)))
        memcpy(fd, CMSG_DATA(head), sizeof(*fd));
    return 0;
}

int wp_debug_fetch_file(struct wp_debug_fetch *f, const uint8_t *build_id, uint32_t size)
{
    struct question q = {.size = size};
    uint32_t number;
    int fd, rc;
    if (!f || !size || size > sizeof(q.build_id))
        return -ENOENT;
    q.number = ++f->number;
    memcpy(q.build_id, build_id, size);
    if (send(f->fd, &q, sizeof(q), MSG_NOSIGNAL) < 0)
        return -ENOENT;
    while (!(rc = receive(f, &number, &fd))) {
        if (number == q.number)
            return fd >= 0 ? fd : -ENOENT;
        if (fd >= 0)
            close(fd);
    }
    return rc;
}
