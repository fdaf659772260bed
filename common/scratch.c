/* SPDX-License-Identifier: Apache-2.0 */
#include "common/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define BASE_BYTES 60u
#define TRIES 100

static const char *const import_names[] = {WP_SCRATCH_IMPORT_SOCKET, NULL};
const struct wp_scratch_kind wp_scratch_import = {"wakepath-import-", import_names, .is_inherited = true};

static const char *base_of(void)
{
    const char *base = getenv("TMPDIR");
    return base && *base == '/' && strlen(base) <= BASE_BYTES ? base : "/tmp";
}

/* An own folder that is not a link, with its lock; -1: another's, somebody lives in it, or it is gone. */
static int lock_folder(int parent, const char *name, int how, bool is_inherited)
{
    struct stat st, named;
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | (is_inherited ? 0 : O_CLOEXEC));
    if (fd < 0)
        return -1;
    if (!fstat(fd, &st) && st.st_uid == geteuid() && (st.st_mode & 0777) == 0700 && !flock(fd, how) &&
        !fstatat(parent, name, &named, AT_SYMLINK_NOFOLLOW) && named.st_ino == st.st_ino && named.st_dev == st.st_dev)
        return fd;
    close(fd);
    return -1;
}

/* Nothing but what was made here: a folder with anything else in it stays. */
static void remove_held(const char *path, int fd, const struct wp_scratch_kind *kind)
{
    if (kind->clear)
        kind->clear(path);
    for (const char *const *made = kind->names; *made; made++)
        unlinkat(fd, *made, 0);
    rmdir(path);
}

void wp_scratch_sweep(const struct wp_scratch_kind *kind)
{
    const char *base = base_of();
    size_t size = strlen(kind->prefix);
    DIR *dir = opendir(base);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (strncmp(entry->d_name, kind->prefix, size) || strlen(entry->d_name) != size + 6)
            continue;
        int fd = lock_folder(dirfd(dir), entry->d_name, LOCK_EX | LOCK_NB, false);
        if (fd < 0)
            continue;
        char path[WP_SCRATCH_ROOM];
        if ((size_t)snprintf(path, sizeof(path), "%s/%s", base, entry->d_name) < sizeof(path))
            remove_held(path, fd, kind);
        close(fd);
    }
    if (dir)
        closedir(dir);
}

int wp_scratch_make(struct wp_scratch *scratch, const struct wp_scratch_kind *kind, struct wp_error *err)
{
    const char *base = base_of();
    *scratch = (struct wp_scratch){.kind = kind, .fd = -1};
    wp_scratch_sweep(kind);
    if (kind != &wp_scratch_import)
        wp_scratch_sweep(&wp_scratch_import);
    for (int tries = 0; scratch->fd < 0 && tries < TRIES;
         tries++) { /* another run may take it for a dead one before its lock is there */
        if ((size_t)snprintf(scratch->path, sizeof(scratch->path), "%s/%sXXXXXX", base, kind->prefix) >=
            sizeof(scratch->path))
            return wp_error_set(err, -ENAMETOOLONG, "the name of a private folder in '%s' is too long", base);
        if (!mkdtemp(scratch->path)) {
            int rc =
                wp_error_errno(err, -errno, "cannot make a private folder in '%s' (TMPDIR names another place)", base);
            *scratch->path = 0;
            return rc;
        }
        scratch->fd = lock_folder(AT_FDCWD, scratch->path, LOCK_EX, kind->is_inherited);
    }
    return scratch->fd >= 0 ? 0 : wp_error_set(err, -EAGAIN, "cannot lock a private folder in '%s'", base);
}

void wp_scratch_remove(struct wp_scratch *scratch)
{
    if (scratch->fd < 0 || !*scratch->path)
        return;
    remove_held(scratch->path, scratch->fd, scratch->kind);
    close(scratch->fd);
    *scratch = (struct wp_scratch){.fd = -1};
}
