/* SPDX-License-Identifier: Apache-2.0 */
#include "collector/host/kept_files.h"

#include "common/array.h"
#include "common/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KIND_BYTES 5u /* of a magic, before the version */

static void fill_identity(const struct stat *status, uint64_t words[WP_FILE_IDENTITY])
{
    words[0] = status->st_dev;
    words[1] = status->st_ino;
    words[2] = (uint64_t)status->st_size;
    words[3] = (uint64_t)status->st_mtim.tv_sec;
    words[4] = (uint64_t)status->st_mtim.tv_nsec;
    words[5] = (uint64_t)status->st_ctim.tv_sec;
    words[6] = (uint64_t)status->st_ctim.tv_nsec;
}

bool wp_file_identity(int fd, uint64_t words[WP_FILE_IDENTITY])
{
    struct stat status;
    if (fstat(fd, &status))
        return false;
    fill_identity(&status, words);
    return true;
}

bool wp_file_identity_at(const char *path, uint64_t words[WP_FILE_IDENTITY])
{
    struct stat status;
    if (stat(path, &status))
        return false;
    fill_identity(&status, words);
    return true;
}

/* A file that anybody else could have written is not believed. */
static bool is_ours(int fd)
{
    struct stat status;
    return !fstat(fd, &status) && S_ISREG(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 022);
}

/* size: of the magic that has to be equal. */
static bool has_magic(const struct wp_kept_kind *kind, int fd, size_t size)
{
    char found[WP_KEPT_MAGIC];
    return pread(fd, found, sizeof(found), 0) == (ssize_t)sizeof(found) && !memcmp(found, kind->magic, size);
}

static int open_kept(const struct wp_kept_kind *kind, const char *folder, const char *name, int flags)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) >= sizeof(path))
        return -1;
    int fd = open(path, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 || (is_ours(fd) && has_magic(kind, fd, sizeof(kind->magic))))
        return fd;
    close(fd);
    return -1;
}

int wp_kept_files_open(const struct wp_kept_kind *kind, const char *folder, const char *name)
{
    return open_kept(kind, folder, name, O_RDONLY);
}

void wp_kept_files_patch(
    const struct wp_kept_kind *kind, const char *folder, const char *name, const struct wp_kept_patch *patch)
{
    int fd = open_kept(kind, folder, name, O_RDWR);
    ssize_t put = fd < 0 ? 0 : pwrite(fd, patch->bytes, patch->size, (off_t)patch->at);
    (void)put; /* it is done again the next time */
    if (fd >= 0)
        close(fd);
}

int wp_kept_files_read(
    const struct wp_kept_kind *kind, const char *folder, const char *name, size_t limit, struct wp_buffer *bytes)
{
    struct stat status;
    int fd = wp_kept_files_open(kind, folder, name), rc = fd < 0 || fstat(fd, &status) ? -ENOENT : 0;
    if (!rc && (uint64_t)status.st_size > limit)
        rc = -EFBIG;
    if (!rc && !(rc = wp_buffer_reserve(bytes, (size_t)status.st_size))) {
        ssize_t got = pread(fd, bytes->data + bytes->size, (size_t)status.st_size, 0);
        bytes->size += got > 0 ? (size_t)got : 0;
        rc = got == status.st_size ? 0 : -EINVAL;
    }
    if (fd >= 0)
        close(fd);
    return rc;
}

void wp_kept_files_use(const char *folder, const char *name)
{
    char path[4096];
    if ((size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) < sizeof(path))
        utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
}

/* Its folder is nobody else's business; the ones above are ordinary. */
static bool make_folder(const char *folder)
{
    char above[4096];
    if (!mkdir(folder, 0700) || errno == EEXIST)
        return true;
    char *slash = (size_t)snprintf(above, sizeof(above), "%s", folder) < sizeof(above) ? strrchr(above, '/') : NULL;
    if (errno != ENOENT || !slash || slash == above)
        return false;
    *slash = 0;
    return !wp_path_make(above, NULL) && (!mkdir(folder, 0700) || errno == EEXIST);
}

void wp_kept_files_write(const char *folder, const char *name, const struct wp_buffer *bytes)
{
    char path[4096];
    if (!bytes->failed && (size_t)snprintf(path, sizeof(path), "%s/%s", folder, name) < sizeof(path) &&
        make_folder(folder))
        wp_file_write_cached(path, bytes->data, bytes->size, NULL);
}

/* Digits and the suffix. */
static bool is_name(const struct wp_kept_kind *kind, const char *name)
{
    size_t digits = strspn(name, "0123456789abcdef");
    return digits >= 8 && digits % 2 == 0 && !strcmp(name + digits, kind->suffix);
}

static int by_age(const void *x, const void *y)
{
    const struct wp_kept_file *a = x, *b = y;
    if (a->used.tv_sec != b->used.tv_sec)
        return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
    return a->used.tv_nsec < b->used.tv_nsec ? -1 : a->used.tv_nsec > b->used.tv_nsec;
}

size_t wp_kept_files_list(const struct wp_kept_kind *kind, const char *folder, struct wp_kept_file **files)
{
    DIR *dir = opendir(folder);
    size_t count = 0, room = 0;
    *files = NULL;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        struct stat status;
        size_t size = strlen(entry->d_name);
        if (size >= WP_KEPT_NAME || !is_name(kind, entry->d_name) ||
            fstatat(dirfd(dir), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
            continue;
        if (WP_ARRAY_FIT(*files, room, count + 1))
            break;
        struct wp_kept_file *file = &(*files)[count++];
        memcpy(file->name, entry->d_name, size + 1);
        file->size = (uint64_t)status.st_size;
        file->used = status.st_mtim;
    }
    if (dir)
        closedir(dir);
    if (count)
        qsort(*files, count, sizeof(**files), by_age);
    return count;
}

/* Of this version or another one. */
static bool is_of_kind(const struct wp_kept_kind *kind, int folder, const char *name)
{
    int fd = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool is = fd >= 0 && has_magic(kind, fd, KIND_BYTES);
    if (fd >= 0)
        close(fd);
    return is;
}

void wp_kept_files_bound(const struct wp_kept_kind *kind, const char *folder, size_t more)
{
    struct wp_kept_file *files;
    uint64_t bytes = more;
    size_t count = wp_kept_files_list(kind, folder, &files);
    for (size_t i = 0; i < count; i++)
        bytes += files[i].size;
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (size_t i = 0; i < count && (bytes > kind->most_bytes || count - i >= kind->most_files); i++)
        if (is_of_kind(kind, fd, files[i].name) && !unlinkat(fd, files[i].name, 0))
            bytes -= files[i].size;
    if (fd >= 0)
        close(fd);
    free(files);
}
