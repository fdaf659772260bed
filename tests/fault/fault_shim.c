/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: lets calls on files below WP_SHIM_UNDER fail as long as the file WP_SHIM_ORDERS says so. Its text is read at each call:
 * "write EIO", "sync EIO" (fsync and fdatasync), "write EROFS", "write ENOSPC"; a last word "once" takes one call only.
 * "real SECONDS" shifts CLOCK_REALTIME. It touches no call that is not ordered to fail.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static int read_orders(char *text, size_t room)
{
    const char *path = getenv("WP_SHIM_ORDERS");
    int fd = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC) : -1;
    long got = fd < 0 ? 0 : syscall(SYS_read, fd, text, room - 1);
    if (fd >= 0)
        syscall(SYS_close, fd);
    text[got > 0 ? got : 0] = 0;
    return got > 0;
}

static int is_below(int fd)
{
    char link[64], path[PATH_MAX];
    const char *under = getenv("WP_SHIM_UNDER");
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t size = under ? readlink(link, path, sizeof(path) - 1) : -1;
    path[size > 0 ? size : 0] = 0;
    return size > 0 && !strncmp(path, under, strlen(under));
}

static int code_of(const char *name)
{
    return !strcmp(name, "ENOSPC") ? ENOSPC : !strcmp(name, "EROFS") ? EROFS : EIO;
}

/* 0, or the error that this call is to fail with. */
static int ordered(const char *call, int fd)
{
    char text[128], what[16] = "", code[16] = "", times[16] = "";
    int before = errno;
    int fails = read_orders(text, sizeof(text)) && sscanf(text, "%15s %15s %15s", what, code, times) >= 2 && !strcmp(what, call) &&
        is_below(fd);
    if (fails && !strcmp(times, "once") && unlink(getenv("WP_SHIM_ORDERS")))
        fails = 0; /* another call was quicker */
    errno = before;
    return fails ? code_of(code) : 0;
}

#define PASS(type, name, call, arguments, ...)                    \
    type name arguments                                           \
    {                                                             \
        type (*real) arguments = (type(*) arguments)dlsym(RTLD_NEXT, #name); \
        int code = ordered(call, fd);                             \
        if (!code)                                                \
            return real(__VA_ARGS__);                             \
        errno = code;                                             \
        return -1;                                                \
    }

PASS(ssize_t, write, "write", (int fd, const void *bytes, size_t size), fd, bytes, size)
PASS(ssize_t, pwrite, "write", (int fd, const void *bytes, size_t size, off_t at), fd, bytes, size, at)
PASS(ssize_t, pwrite64, "write", (int fd, const void *bytes, size_t size, off64_t at), fd, bytes, size, at)
PASS(ssize_t, writev, "write", (int fd, const struct iovec *parts, int count), fd, parts, count)
PASS(ssize_t, pwritev, "write", (int fd, const struct iovec *parts, int count, off_t at), fd, parts, count, at)
PASS(ssize_t, pwritev64, "write", (int fd, const struct iovec *parts, int count, off64_t at), fd, parts, count, at)
PASS(int, fsync, "sync", (int fd), fd)
PASS(int, fdatasync, "sync", (int fd), fd)

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    char text[128];
    long long shift = 0;
    int (*real)(clockid_t, struct timespec *) = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(clock, ts), before = errno;
    if (!rc && clock == CLOCK_REALTIME && read_orders(text, sizeof(text)) && sscanf(text, "real %lld", &shift) == 1)
        ts->tv_sec += shift;
    errno = before;
    return rc;
}
