/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/private_folder.h"

#include "cli/own_store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "wakepath-"
#define LETTERS 6u     /* of mkdtemp */
#define BASE_BYTES 60u /* an ipc:// socket's whole name must fit in 107 */
#define FRESH "lock.new"

static const char *base_folder(void)
{
    const char *base = getenv("TMPDIR");
    return base && *base == '/' && strlen(base) <= BASE_BYTES ? base : "/tmp";
}

/* Everything that a recording makes in there. The lock goes last: until then the next one can go on. */
static void empty_folder(int fd, const char *path)
{
    char store[WP_PRIVATE_BYTES + 16];
    static const char *const names[] = {
        "events", "wakepath-aggregator.log", "wakepath-collector.log", "wakepath-reporter.log", FRESH, "lock"};
    if ((size_t)snprintf(store, sizeof(store), "%s/" WP_PRIVATE_STORE, path) < sizeof(store))
        wp_own_store_remove(store, NULL);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        unlinkat(fd, names[i], 0);
}

/* Ours, with a lock that nobody holds: *lock_fd holds it then. */
static bool is_left(int fd, int *lock_fd)
{
    struct stat st;
    if (fstat(fd, &st) || st.st_uid != geteuid() || (st.st_mode & 077))
        return false;
    *lock_fd = openat(fd, "lock", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*lock_fd >= 0 && !fstat(*lock_fd, &st) && S_ISREG(st.st_mode) && !flock(*lock_fd, LOCK_EX | LOCK_NB))
        return true;
    if (*lock_fd >= 0)
        close(*lock_fd);
    return false;
}

static void sweep(const char *base)
{
    DIR *names = opendir(base);
    for (struct dirent *entry; names && (entry = readdir(names));) {
        if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) || strlen(entry->d_name) != strlen(PREFIX) + LETTERS)
            continue;
        int lock_fd, fd = openat(dirfd(names), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && is_left(fd, &lock_fd)) {
            char path[WP_PRIVATE_BYTES];
            snprintf(path, sizeof(path), "%.*s/%.*s", (int)BASE_BYTES, base, 32, entry->d_name);
            empty_folder(fd, path);
            unlinkat(dirfd(names), entry->d_name, AT_REMOVEDIR);
            close(lock_fd);
        }
        if (fd >= 0)
            close(fd);
    }
    if (names)
        closedir(names);
}

/* It has its name when it is locked already: nobody takes it for one that was left. */
static int make_lock(const struct wp_private_folder *folder)
{
    char fresh[WP_PRIVATE_BYTES + 16], lock[WP_PRIVATE_BYTES + 16];
    snprintf(fresh, sizeof(fresh), "%s/" FRESH, folder->path);
    snprintf(lock, sizeof(lock), "%s/lock", folder->path);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd >= 0 && !flock(fd, LOCK_EX | LOCK_NB) && !rename(fresh, lock))
        return fd;
    int rc = -errno;
    if (fd >= 0)
        close(fd);
    return rc;
}

int wp_private_folder_make(struct wp_private_folder *folder, struct wp_error *err)
{
    const char *base = base_folder();
    folder->lock_fd = -1;
    sweep(base);
    snprintf(folder->path, sizeof(folder->path), "%s/" PREFIX "XXXXXX", base);
    bool is_made = mkdtemp(folder->path);
    folder->lock_fd = is_made ? make_lock(folder) : -errno;
    if (folder->lock_fd >= 0)
        return 0;
    int rc = wp_error_errno(err, folder->lock_fd, "cannot make a private folder in '%s'", base);
    if (is_made)
        rmdir(folder->path);
    folder->path[0] = 0;
    return rc;
}

void wp_private_folder_remove(struct wp_private_folder *folder)
{
    int fd = *folder->path ? open(folder->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd >= 0) {
        empty_folder(fd, folder->path);
        rmdir(folder->path);
        close(fd);
    }
    if (*folder->path)
        close(folder->lock_fd);
    *folder = (struct wp_private_folder){.lock_fd = -1};
}
