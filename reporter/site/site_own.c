/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_own.h"

#include "common/path.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK ".wakepath-new"
#define LOCK_LINE "wakepath-reporter\n"
#define LIST_LIMIT (1ull << 31)

/* A walk through a folder beside a list of files. */
struct walk {
    struct wp_site_lines lines;
    const struct wp_site_lines *spared; /* names at the top that stay, whatever is in them */
    size_t root;                        /* how much of `path` is the folder */
    bool is_all; /* every entry of the folder must be on the list, not only what is below its names */
    char path[PATH_MAX];
};

static bool is_listed_file(const struct walk *walk, const char *name)
{
    return wp_site_lines_have(&walk->lines, name);
}

static bool is_listed_folder(const struct walk *walk, const char *name)
{
    char prefix[PATH_MAX];
    size_t size = (size_t)snprintf(prefix, sizeof(prefix), "%s/", name);
    return size < sizeof(prefix) && !strncmp(wp_site_lines_from(&walk->lines, prefix), prefix, size);
}

static int walk_folder(struct walk *walk, size_t size);

/* 1: the path of a stranger stands in `path`. */
static int walk_entry(struct walk *walk, int folder, const char *entry, size_t size)
{
    struct stat st;
    if ((size_t)snprintf(walk->path + size, sizeof(walk->path) - size, "/%s", entry) >= sizeof(walk->path) - size)
        return -ENAMETOOLONG;
    const char *name = walk->path + walk->root + 1;
    bool is_top = size == walk->root, is_file = is_listed_file(walk, name), is_folder = is_listed_folder(walk, name);
    if (is_top && (!strcmp(name, WP_SITE_MANIFEST) || (!walk->is_all && !is_file && !is_folder)))
        return 0;
    if (is_top && walk->spared && wp_site_lines_have(walk->spared, name))
        return 0;
    if (fstatat(folder, entry, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? 0 : -errno;
    if (is_folder && S_ISDIR(st.st_mode))
        return walk_folder(walk, strlen(walk->path));
    return is_file && !S_ISDIR(st.st_mode) ? 0 : 1;
}

static int walk_folder(struct walk *walk, size_t size)
{
    int fd = open(walk->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), rc = 0;
    DIR *names = fd < 0 ? NULL : fdopendir(fd);
    if (!names) {
        rc = errno == ENOENT ? 0 : -errno;
        if (fd >= 0)
            close(fd);
        return rc;
    }
    for (struct dirent *entry; !rc && (entry = readdir(names));)
        if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
            rc = walk_entry(walk, fd, entry->d_name, size);
    if (!rc)
        walk->path[size] = 0;
    closedir(names);
    return rc;
}

/* -EEXIST with the stranger's name. `spared` NULL: every entry of the folder is on the list. */
static int refuse_strangers(
    const char *folder, const struct wp_buffer *list, const struct wp_site_lines *spared, struct wp_error *err)
{
    struct walk walk = {.spared = spared, .is_all = !spared};
    int rc = wp_site_lines_paths(&walk.lines, list, spared);
    if (rc)
        return wp_error_set(err, rc, "out of memory for the list of files");
    walk.root = (size_t)snprintf(walk.path, sizeof(walk.path), "%s", folder);
    rc = walk.root < sizeof(walk.path) ? 0 : -ENAMETOOLONG;
    if (!rc)
        rc = walk_folder(&walk, walk.root);
    if (rc > 0)
        rc = wp_error_set(err, -EEXIST,
            "'%s' was not made by wakepath-reporter and stands among its pages, which are replaced: "
            "move it away, or choose another --out",
            walk.path);
    else if (rc)
        rc = wp_error_errno(err, rc, "cannot look through '%s'", folder);
    wp_site_lines_fini(&walk.lines);
    return rc;
}

int wp_site_strangers(
    const char *out, const struct wp_buffer *manifest, const struct wp_site_lines *spared, struct wp_error *err)
{
    return manifest->size ? refuse_strangers(out, manifest, spared, err) : 0;
}

static int mark_path(const char *folder, const char *name, char path[PATH_MAX], struct wp_error *err)
{
    if ((size_t)snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX)
        return 0;
    return wp_error_set(err, -ENAMETOOLONG, "'%s' is too long a name", folder);
}

int wp_site_scratch_mark(const char *folder, bool is_marked, struct wp_error *err)
{
    char path[PATH_MAX];
    int rc = mark_path(folder, MARK, path, err);
    if (rc)
        return rc;
    if (!is_marked)
        return unlink(path) && errno != ENOENT ? wp_error_errno(err, -errno, "cannot remove '%s'", path) : 0;
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (fd < 0)
        return wp_error_errno(err, -errno, "cannot write '%s'", path);
    close(fd);
    return 0;
}

int wp_site_scratch_make(const char *path, struct wp_error *err)
{
    if (mkdir(path, 0777))
        return wp_error_errno(err, -errno, "cannot make folder '%s'", path);
    return wp_site_scratch_mark(path, true, err);
}

static int refuse(const char *path, struct wp_error *err)
{
    return wp_error_set(
        err, -EEXIST, "'%s' was not made by wakepath-reporter: move it away, or choose another --out", path);
}

int wp_site_scratch_remove(const char *folder, struct wp_error *err)
{
    char path[PATH_MAX];
    struct stat st;
    struct wp_buffer list = {0};
    if (lstat(folder, &st))
        return errno == ENOENT ? 0 : wp_error_errno(err, -errno, "cannot look at '%s'", folder);
    if (!S_ISDIR(st.st_mode))
        return refuse(folder, err);
    if (!rmdir(folder))
        return 0;
    int rc = mark_path(folder, MARK, path, err);
    if (!rc && !lstat(path, &st))
        return wp_path_remove(folder, err);
    if (!rc)
        rc = mark_path(folder, WP_SITE_MANIFEST, path, err);
    if (!rc)
        rc = wp_file_read(path, LIST_LIMIT, &list, NULL) ? refuse(folder, err)
                                                         : refuse_strangers(folder, &list, NULL, err);
    wp_buffer_fini(&list);
    return rc ? rc : wp_path_remove(folder, err);
}

int wp_site_lock_open(const char *path, int *fd, struct wp_error *err)
{
    *fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*fd >= 0 && write(*fd, LOCK_LINE, strlen(LOCK_LINE)) == (ssize_t)strlen(LOCK_LINE))
        return 0;
    if (*fd < 0 && errno == EEXIST)
        *fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666); /* its holder may go just now */
    return *fd < 0 ? wp_error_errno(err, -errno,
                         "cannot make '%s' beside the pages (this user must be able to write to its folder)", path)
                   : 0;
}

int wp_site_lock_check(int fd, const char *path, bool *is_ours, struct wp_error *err)
{
    char text[sizeof(LOCK_LINE)];
    ssize_t got = pread(fd, text, sizeof(text), 0);
    *is_ours = got == (ssize_t)strlen(LOCK_LINE) && !memcmp(text, LOCK_LINE, strlen(LOCK_LINE));
    if (*is_ours || !got)
        return 0;
    return got < 0 ? wp_error_errno(err, -errno, "cannot read '%s'", path) : refuse(path, err);
}
