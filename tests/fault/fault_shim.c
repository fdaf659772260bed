/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: lets calls on files below WP_SHIM_UNDER fail as long as the file WP_SHIM_ORDERS says so. Its text is read
 * at each call: "write EIO", "sync EIO" (fsync and fdatasync), "write EROFS", "write ENOSPC"; a last word "once" takes
 * one call only; "sync LOSE": it fails with EIO, and what was appended since the last one that did not reads as zeros
 * from then on, as when a file system gives up pages that it cannot write; "sync STOP once" does not let it fail but
 * stops the program before it (SIGSTOP). "sync EIO at=BYTES": of files that are as long by then, so that an order that
 * is there from the start strikes in the midst of a session. "real SECONDS" shifts CLOCK_REALTIME. It touches no call
 * that is not ordered to fail.
 *
 * In the folder WP_SHIM_JOURNAL it notes what a crash of the machine could undo: for each write to a data.mdb or a
 * checkpoint's dictionary that no sync has followed (and that is not O_DSYNC) what was there before, in a file named by
 * the inode: offset, size, the file's size before (8 bytes each), the bytes.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static void path_of(int fd, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, PATH_MAX - 1);
    path[size > 0 ? size : 0] = 0;
}

static int is_below(int fd)
{
    char path[PATH_MAX];
    const char *under = getenv("WP_SHIM_UNDER");
    path_of(fd, path);
    return under && *path && !strncmp(path, under, strlen(under));
}

static int is_noted(const char *path)
{
    const char *name = strrchr(path, '/'), *end = strrchr(path, '.');
    return name && (!strcmp(name, "/data.mdb") || (end && !strcmp(end, ".dictionary")));
}

/* The journal of the file, opened; -1: there is none. */
static int open_journal(int fd, int flags)
{
    char path[PATH_MAX];
    const char *folder = getenv("WP_SHIM_JOURNAL");
    struct stat status;
    path_of(fd, path);
    if (!folder || !is_noted(path) || fcntl(fd, F_GETFL) & O_DSYNC || fstat(fd, &status))
        return -1;
    snprintf(path, sizeof(path), "%s/%llu", folder, (unsigned long long)status.st_ino);
    return (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);
}

/* To read what can only be written there. */
static int open_again(int fd)
{
    char link[64];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    return (int)syscall(SYS_openat, AT_FDCWD, link, O_RDONLY | O_CLOEXEC);
}

static void note(int fd, long long at, size_t size)
{
    struct stat status;
    int before = errno, journal = open_journal(fd, O_APPEND);
    uint64_t *record = journal < 0 || fstat(fd, &status) ? NULL : calloc(1, 24 + size);
    if (record) {
        record[0] = (uint64_t)at;
        record[1] = size;
        record[2] = (uint64_t)status.st_size;
        int reader = open_again(fd);
        if (reader < 0 || pread(reader, record + 3, size, at) < 0 || syscall(SYS_write, journal, record, 24 + size) < 0)
            abort();
        syscall(SYS_close, reader);
    }
    free(record);
    if (journal >= 0)
        syscall(SYS_close, journal);
    errno = before;
}

static void note_parts(int fd, long long at, const struct iovec *parts, int count)
{
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += parts[i].iov_len;
    note(fd, at, size);
}

static void forget_notes(int fd)
{
    int before = errno, journal = open_journal(fd, O_TRUNC);
    if (journal >= 0)
        syscall(SYS_close, journal);
    errno = before;
}

/* Where the file ended when it was synced. */
static struct synced {
    ino_t inode;
    off_t size;
} synced_files[1024];

static struct synced *synced_of(const struct stat *status)
{
    struct synced *file = synced_files;
    while (file->inode && file->inode != status->st_ino)
        if (++file == synced_files + sizeof(synced_files) / sizeof(*synced_files))
            abort();
    file->inode = status->st_ino;
    return file;
}

static void note_sync(int fd)
{
    struct stat status;
    int before = errno;
    if (is_below(fd) && !fstat(fd, &status))
        synced_of(&status)->size = status.st_size;
    errno = before;
}

static void lose_unsynced(int fd)
{
    static const char zeros[65536];
    struct stat status;
    if (fstat(fd, &status))
        return;
    for (off_t at = synced_of(&status)->size; at < status.st_size;) {
        size_t size = status.st_size - at < (off_t)sizeof(zeros) ? (size_t)(status.st_size - at) : sizeof(zeros);
        if (syscall(SYS_pwrite64, fd, zeros, size, at) != (long)size)
            abort();
        at += (off_t)size;
    }
}

static int code_of(const char *name)
{
    return !strcmp(name, "ENOSPC") ? ENOSPC : !strcmp(name, "EROFS") ? EROFS : EIO;
}

static int is_as_long(int fd, const char *orders)
{
    struct stat status;
    const char *at = strstr(orders, " at=");
    return !at || (!fstat(fd, &status) && status.st_size >= atoll(at + 4));
}

/* 0, or the error that this call is to fail with. */
static int ordered(const char *call, int fd)
{
    char text[128], what[16] = "", code[16] = "";
    int before = errno;
    int fails = read_orders(text, sizeof(text)) && sscanf(text, "%15s %15s", what, code) == 2 && !strcmp(what, call) &&
        is_below(fd) && is_as_long(fd, text);
    if (fails && strstr(text, " once") && unlink(getenv("WP_SHIM_ORDERS")))
        fails = 0; /* another call was quicker */
    int stops = fails && !strcmp(code, "STOP");
    if (stops)
        raise(SIGSTOP);
    if (fails && !strcmp(code, "LOSE"))
        lose_unsynced(fd);
    errno = before;
    return fails && !stops ? code_of(code) : 0;
}

/* `first` is done before the call, `last` behind it. */
#define PASS(type, name, call, first, last, arguments, ...)                                                            \
    type name arguments                                                                                                \
    {                                                                                                                  \
        type(*real) arguments = (type(*) arguments)dlsym(RTLD_NEXT, #name);                                            \
        int code = ordered(call, fd);                                                                                  \
        if (!code) {                                                                                                   \
            first;                                                                                                     \
            type result = real(__VA_ARGS__);                                                                           \
            last;                                                                                                      \
            return result;                                                                                             \
        }                                                                                                              \
        errno = code;                                                                                                  \
        return -1;                                                                                                     \
    }

#define HERE lseek(fd, 0, SEEK_CUR)
PASS(ssize_t, write, "write", note(fd, HERE, size), (void)0, (int fd, const void *bytes, size_t size), fd, bytes, size)
PASS(ssize_t, pwrite, "write", note(fd, at, size), (void)0, (int fd, const void *bytes, size_t size, off_t at), fd,
    bytes, size, at)
PASS(ssize_t, pwrite64, "write", note(fd, at, size), (void)0, (int fd, const void *bytes, size_t size, off64_t at), fd,
    bytes, size, at)
PASS(ssize_t, writev, "write", note_parts(fd, HERE, parts, count), (void)0,
    (int fd, const struct iovec *parts, int count), fd, parts, count)
PASS(ssize_t, pwritev, "write", note_parts(fd, at, parts, count), (void)0,
    (int fd, const struct iovec *parts, int count, off_t at), fd, parts, count, at)
PASS(ssize_t, pwritev64, "write", note_parts(fd, at, parts, count), (void)0,
    (int fd, const struct iovec *parts, int count, off64_t at), fd, parts, count, at)
PASS(int, fsync, "sync", (void)0, (forget_notes(fd), note_sync(fd)), (int fd), fd)
PASS(int, fdatasync, "sync", (void)0, (forget_notes(fd), note_sync(fd)), (int fd), fd)

int clock_gettime(clockid_t clock, struct timespec *ts)
{
    char text[128];
    long long shift = 0;
    int (*real)(clockid_t, struct timespec *) =
        (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int rc = real(clock, ts), before = errno;
    if (!rc && clock == CLOCK_REALTIME && read_orders(text, sizeof(text)) && sscanf(text, "real %lld", &shift) == 1)
        ts->tv_sec += shift;
    errno = before;
    return rc;
}
