/* SPDX-License-Identifier: Apache-2.0 */
#include "common/source_file.h"

#include "common/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const char *const endings[] = {"c", "h", "cc", "hh", "cpp", "hpp", "cxx", "hxx", "c++", "h++", "inc", "inl",
    "ipp", "tcc", "def", "m", "mm", "s", "S", "asm", "rs", "go", "zig", "d", "f", "f90", "f95", "f03", "f08", "for",
    "pas", "adb", "ads", "y", "yy", "l", "ll", "py", "pyx", "pxd", "js", "mjs", "ts", "java", "kt", "scala", "swift",
    "hs", "ml", "mli", "v", "nim", "cu", "cuh", "gperf", "re", "rl", "vala", "cr", "jl"};

bool wp_source_is_named_so(const char *path)
{
    const char *base = strrchr(path, '/'), *dot = strrchr(base ? base : path, '.');
    for (size_t i = 0; dot && i < sizeof(endings) / sizeof(*endings); i++)
        if (!strcasecmp(dot + 1, endings[i]))
            return true;
    return false;
}

static int read_open(
    int fd, const struct wp_source_place *place, struct wp_buffer *out, uint64_t *changed_ns, struct wp_error *err)
{
    const char *path = place->path;
    size_t limit = place->limit;
    struct stat st;
    char bytes[65536];
    ssize_t got;
    if (fstat(fd, &st))
        return wp_error_errno(err, -errno, "cannot read %s", path);
    if (!S_ISREG(st.st_mode))
        return wp_error_set(err, -EPERM, "%s is not a file", path);
    if ((uint64_t)st.st_size > limit)
        return wp_error_set(err, -EFBIG, "it has more than %zu bytes", limit);
    *changed_ns = wp_timespec_ns(st.st_mtim);
    while ((got = read(fd, bytes, sizeof(bytes))) != 0) {
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return wp_error_errno(err, -errno, "cannot read %s", path);
        if (out->size + (size_t)got > limit)
            return wp_error_set(err, -EFBIG, "it has more than %zu bytes", limit);
        if (wp_buffer_append(out, bytes, (size_t)got))
            return wp_error_set(err, -ENOMEM, "out of memory for %s", path);
    }
    return 0;
}

int wp_source_read_beneath(
    const struct wp_source_place *place, struct wp_buffer *out, uint64_t *changed_ns, struct wp_error *err)
{
    const char *dir = place->dir, *path = place->path;
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS};
    int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (root < 0)
        return wp_error_errno(err, -errno, "cannot open %s", dir);
    int fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
    int rc = fd < 0 ? wp_error_errno(err, -errno, "cannot open %s in %s", path, dir)
                    : read_open(fd, place, out, changed_ns, err);
    if (fd >= 0)
        close(fd);
    close(root);
    return rc;
}

static bool is_own(const struct stat *st)
{
    const char *sudo = getenv("SUDO_UID");
    return st->st_uid == geteuid() ? geteuid() != 0
                                   : sudo && *sudo && strtoul(sudo, NULL, 10) == st->st_uid && st->st_uid;
}

/* Every folder on the way can be searched by everybody. */
static bool is_in_public(const char *path)
{
    char above[PATH_MAX];
    size_t size = strlen(path);
    memcpy(above, path, size + 1);
    for (char *slash; (slash = strrchr(above, '/')) && slash != above;) {
        struct stat st;
        *slash = 0;
        if (stat(above, &st) || !(st.st_mode & S_IXOTH))
            return false;
    }
    return true;
}

/* What is left of a path without links beneath a folder; NULL: it is not there. */
static const char *beneath(const char *real, const char *dir)
{
    char folder[PATH_MAX];
    if (*dir != '/' || !realpath(dir, folder))
        return NULL;
    size_t size = strcmp(folder, "/") ? strlen(folder) : 0;
    return !strncmp(real, folder, size) && real[size] == '/' ? real + size + 1 : NULL;
}

/* The path is resolved first: the file behind all links must itself be one that may be shown. It is then opened from
 * the folder and along no link: what was looked at, whatever happens to the way. */
int wp_source_read_public(
    const struct wp_source_place *place, struct wp_buffer *out, uint64_t *changed_ns, struct wp_error *err)
{
    const char *dir = place->dir, *path = place->path;
    char real[PATH_MAX];
    struct stat st;
    if (*path != '/')
        return wp_error_set(err, -EPERM, "its path is relative");
    if (!realpath(path, real))
        return errno == ENOENT ? wp_error_set(err, -ENOENT, "it is not there")
                               : wp_error_errno(err, -errno, "cannot open it");
    const char *rest = beneath(real, dir);
    if (!rest)
        return wp_error_set(err, -EPERM, "it is not in %s", dir);
    if (!wp_source_is_named_so(path) || !wp_source_is_named_so(real))
        return wp_error_set(err, -EPERM, "it is not named like source");
    struct open_how how = {
        .flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH};
    int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = root < 0 ? -1 : (int)syscall(SYS_openat2, root, rest, &how, sizeof(how));
    int rc = fd < 0 ? wp_error_errno(err, -errno, "cannot open it") : 0;
    if (!rc && (fstat(fd, &st) || (!is_own(&st) && !((st.st_mode & S_IROTH) && is_in_public(real)))))
        rc = wp_error_set(err, -EPERM, "not everybody may read it; --source-map gives the folder on purpose");
    if (!rc)
        rc = read_open(fd, place, out, changed_ns, err);
    if (fd >= 0)
        close(fd);
    if (root >= 0)
        close(root);
    return rc;
}
