/* SPDX-License-Identifier: Apache-2.0 */
#include "common/path.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static bool id_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("._+-", c));
}

bool wp_id_valid(const char *id)
{
    size_t size = strlen(id);
    if (size < 1 || size > 128 || !strcmp(id, ".") || !strcmp(id, ".."))
        return false;
    for (size_t i = 0; i < size; i++)
        if (!id_byte(id[i]))
            return false;
    return true;
}

void wp_id_from(const char *text, char *id, size_t room)
{
    size_t limit = room - 1 < 128 ? room - 1 : 128, size = 0;
    for (; size < limit && text[size]; size++)
        id[size] = id_byte(text[size]) ? text[size] : '_';
    id[size] = 0;
    if (!size || !strcmp(id, ".") || !strcmp(id, ".."))
        snprintf(id, room, "_");
}

int wp_path_make(const char *path, struct wp_error *err)
{
    char part[PATH_MAX];
    size_t size = strlen(path);
    if (!size || size >= sizeof(part))
        return wp_error_set(err, -ENAMETOOLONG, "cannot make folder '%.100s': bad length", path);
    memcpy(part, path, size + 1);
    bool is_there = !mkdir(path, 0777) || errno == EEXIST; /* mostly only the last folder is missing */
    for (size_t i = 1; i <= size && !is_there; i++) {
        if (part[i] != '/' && part[i])
            continue;
        char keep = part[i];
        part[i] = 0;
        if (!mkdir(part, 0777))
            wp_name_sync(part, NULL); /* who syncs the last one's name relies on those above */
        else if (errno != EEXIST)
            return wp_error_errno(err, -errno, "cannot make folder '%s'", part);
        part[i] = keep;
    }
    struct stat st;
    if (stat(path, &st))
        return wp_error_errno(err, -errno, "cannot make folder '%s'", path);
    return S_ISDIR(st.st_mode) ? 0 : wp_error_set(err, -ENOTDIR, "'%s' exists and is not a folder", path);
}

int wp_file_read(const char *path, size_t limit, struct wp_buffer *out, struct wp_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot open '%s'", path);
    size_t start = out->size;
    int rc = 0;
    for (;;) {
        if ((rc = wp_buffer_reserve(out, 65536))) {
            wp_error_errno(err, rc, "cannot read '%s'", path);
            break;
        }
        ssize_t got = read(fd, out->data + out->size, 65536);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            rc = wp_error_errno(err, -errno, "cannot read '%s'", path);
        if (got <= 0)
            break;
        out->size += (size_t)got;
        if (out->size - start > limit) {
            rc = wp_error_set(err, -EFBIG, "'%s' is larger than %zu bytes", path, limit);
            break;
        }
    }
    close(fd);
    if (out->data)
        out->data[out->size] = 0;
    return rc;
}

static int write_all(int fd, const char *bytes, size_t size)
{
    while (size) {
        ssize_t done = write(fd, bytes, size);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -errno;
        bytes += done;
        size -= (size_t)done;
    }
    return 0;
}

/* "PATH.tmp.RANDOM", as mkstemp but with the mode that an ordinary file gets. Nothing that is there is opened, nor a
 * link followed. */
static int make_temporary(const char *path, char temporary[PATH_MAX])
{
    uint64_t random;
    for (int turn = 0; turn < 100; turn++) {
        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
            return -errno;
        if (snprintf(temporary, PATH_MAX, "%s.tmp.%016llx", path, (unsigned long long)random) >= PATH_MAX)
            return -ENAMETOOLONG;
        int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0 || errno != EEXIST)
            return fd < 0 ? -errno : fd;
    }
    return -EEXIST;
}

static int write_file(const char *path, const void *bytes, size_t size, bool is_durable, struct wp_error *err)
{
    char temporary[PATH_MAX];
    int fd = make_temporary(path, temporary);
    if (fd == -ENAMETOOLONG)
        return wp_error_set(err, fd, "cannot write '%.100s...': name too long", path);
    if (fd < 0)
        return wp_error_errno(err, fd, "cannot write '%s'", path);
    int rc = write_all(fd, bytes, size);
    if (!rc && is_durable && fsync(fd))
        rc = -errno;
    if (close(fd) && !rc)
        rc = -errno;
    if (!rc && rename(temporary, path))
        rc = -errno;
    if (rc) {
        unlink(temporary);
        return wp_error_errno(err, rc, "cannot write '%s'", path);
    }
    return 0;
}

int wp_file_write_atomic(const char *path, const void *bytes, size_t size, struct wp_error *err)
{
    return write_file(path, bytes, size, true, err);
}

int wp_file_write_cached(const char *path, const void *bytes, size_t size, struct wp_error *err)
{
    return write_file(path, bytes, size, false, err);
}

int wp_folder_sync(const char *path, struct wp_error *err)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int rc = fd < 0 || fsync(fd) ? -errno : 0;
    if (fd >= 0)
        close(fd);
    return rc ? wp_error_errno(err, rc, "cannot sync '%s'", path) : 0;
}

int wp_name_sync(const char *path, struct wp_error *err)
{
    char folder[PATH_MAX];
    size_t size = strlen(path);
    while (size > 1 && path[size - 1] == '/')
        size--;
    while (size && path[size - 1] != '/')
        size--;
    while (size > 1 && path[size - 1] == '/')
        size--;
    if (size >= sizeof(folder))
        return wp_error_set(err, -ENAMETOOLONG, "cannot sync the folder of '%.100s...': name too long", path);
    memcpy(folder, path, size);
    folder[size] = 0;
    return wp_folder_sync(size ? folder : ".", err);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
    (void)st, (void)kind, (void)ftw;
    return remove(path) && errno != ENOENT ? errno : 0;
}

int wp_path_remove(const char *path, struct wp_error *err)
{
    int rc = nftw(path, remove_one, 32, FTW_DEPTH | FTW_PHYS);
    if (rc == -1 && errno == ENOENT)
        return 0;
    if (rc == -1)
        rc = errno;
    return rc ? wp_error_errno(err, -rc, "cannot remove '%s'", path) : 0;
}
