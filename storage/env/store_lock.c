/* SPDX-License-Identifier: Apache-2.0 */
#include "storage/env/store_lock.h"

#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#define ROOT_WAIT_MS 10000
#define FILE_WAIT_MS 1000

int wp_lock_root(const char *root, bool exclusive, int *out, struct wp_error *err)
{
    int fd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC), rc = 0;
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot open store '%s'", root);
    for (int waited = 0; flock(fd, (exclusive ? LOCK_EX : LOCK_SH) | LOCK_NB); waited++) {
        if (errno == EINTR)
            continue;
        rc = errno != EWOULDBLOCK ? -errno : waited == ROOT_WAIT_MS ? -EBUSY : 0;
        if (rc) {
            close(fd);
            return wp_error_errno(err, rc, "cannot lock store '%s'", root);
        }
        nanosleep(&(struct timespec){.tv_nsec = WP_NS_PER_MS}, NULL);
    }
    *out = fd;
    return 0;
}

static int held(int fd, const char *what, struct wp_error *err)
{
    char holder[32] = "";
    ssize_t got = pread(fd, holder, sizeof(holder) - 1, 0);
    long pid = got > 0 ? strtol(holder, NULL, 10) : 0;
    close(fd);
    return wp_error_set(err, -EBUSY, "%s: process %ld holds it", what, pid);
}

int wp_lock_file(const char *root, const char *name, const char *what, int *out, struct wp_error *err)
{
    char path[PATH_MAX], pid[32];
    if ((size_t)snprintf(path, sizeof(path), "%s/~%s.lock", root, name) >= sizeof(path))
        return wp_error_set(err, -ENAMETOOLONG, "the path of lock '%s' is too long", name);
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0664), rc;
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot write to store '%s'%s: '~%s.lock'", root,
            errno == EACCES ? " (what changes a store runs as its owner: runuser -u OWNER -- ...; or choose another)"
                            : "",
            name);
    /* Who was killed a moment ago may still be on its way out. */
    for (int waited = 0;
         (rc = flock(fd, LOCK_EX | LOCK_NB)) && (errno == EINTR || (errno == EWOULDBLOCK && waited < FILE_WAIT_MS));
         waited++)
        nanosleep(&(struct timespec){.tv_nsec = WP_NS_PER_MS}, NULL);
    if (rc && errno == EWOULDBLOCK)
        return held(fd, what, err);
    if (rc) {
        rc = wp_error_errno(err, -errno, "cannot lock '%s'", path);
        close(fd);
        return rc;
    }
    /* For the one who is refused; the lock is what counts, so a full disk is no obstacle. */
    int size = snprintf(pid, sizeof(pid), "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) || pwrite(fd, pid, (size_t)size, 0) != size)
        errno = 0;
    *out = fd;
    return 0;
}

bool wp_lock_is_held(const char *root, const char *name)
{
    char path[PATH_MAX];
    if ((size_t)snprintf(path, sizeof(path), "%s/~%s.lock", root, name) >= sizeof(path))
        return true;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno != ENOENT;
    bool is_held = flock(fd, LOCK_SH | LOCK_NB) != 0;
    close(fd);
    return is_held;
}
