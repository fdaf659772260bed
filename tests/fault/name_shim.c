/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: notes in the file WP_NAMES what a crash of the machine could undo of names, and what is waited for, a
 * line each: "make PATH" (a file or folder that was not there), "name PATH" (renamed or linked to), "sync PATH" (fsync
 * or fdatasync of a file or folder), "whole PATH" (syncfs: of all that is where this is).
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NEXT(type, name) ((type)dlsym(RTLD_NEXT, #name))

static void note(const char *what, int folder, const char *path)
{
    const char *journal = getenv("WP_NAMES");
    char line[2 * PATH_MAX + 16], above[PATH_MAX] = "", link[64];
    int fd = journal ? (int)syscall(SYS_openat, AT_FDCWD, journal, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    snprintf(link, sizeof(link), "/proc/self/fd/%d", folder);
    if (*path != '/' &&
        (folder == AT_FDCWD ? !getcwd(above, sizeof(above)) : readlink(link, above, sizeof(above) - 1) < 0))
        *above = 0;
    int size = snprintf(line, sizeof(line), "%s %s%s%s\n", what, above, *above && *path ? "/" : "", path);
    syscall(SYS_write, fd, line, size);
    syscall(SYS_close, fd);
}

static int is_there(int folder, const char *path)
{
    struct stat status;
    return !fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW);
}

static int open_noted(int folder, const char *path, int flags, mode_t mode)
{
    int is_new = flags & O_CREAT && (flags & O_TMPFILE) != O_TMPFILE && !is_there(folder, path);
    int fd = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (fd >= 0 && is_new)
        note("make", folder, path);
    return fd;
}

#define MODE(last)                                                                                                     \
    mode_t mode = 0;                                                                                                   \
    va_list rest;                                                                                                      \
    va_start(rest, last);                                                                                              \
    if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE)                                                           \
        mode = va_arg(rest, mode_t);                                                                                   \
    va_end(rest)

int open(const char *path, int flags, ...)
{
    MODE(flags);
    return open_noted(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    MODE(flags);
    return open_noted(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...)
{
    MODE(flags);
    return open_noted(folder, path, flags, mode);
}

int mkdir(const char *path, mode_t mode)
{
    int rc = NEXT(int (*)(const char *, mode_t), mkdir)(path, mode);
    if (!rc)
        note("make", AT_FDCWD, path);
    return rc;
}

int rename(const char *from, const char *to)
{
    int rc = NEXT(int (*)(const char *, const char *), rename)(from, to);
    if (!rc)
        note("name", AT_FDCWD, to);
    return rc;
}

int linkat(int from_folder, const char *from, int folder, const char *to, int flags)
{
    int rc = NEXT(int (*)(int, const char *, int, const char *, int), linkat)(from_folder, from, folder, to, flags);
    if (!rc)
        note("name", folder, to);
    return rc;
}

static int sync_noted(int rc, int fd)
{
    if (!rc)
        note("sync", fd, "");
    return rc;
}

int fsync(int fd)
{
    return sync_noted(NEXT(int (*)(int), fsync)(fd), fd);
}

int fdatasync(int fd)
{
    return sync_noted(NEXT(int (*)(int), fdatasync)(fd), fd);
}

int syncfs(int fd)
{
    int rc = NEXT(int (*)(int), syncfs)(fd);
    if (!rc)
        note("whole", fd, "");
    return rc;
}
