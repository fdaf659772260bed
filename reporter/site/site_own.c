/* SPDX-License-Identifier: Apache-2.0 */
#include "reporter/site/site_own.h"

#include "common/array.h"
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
    char *text;         /* the list, its lines ended by 0 */
    const char **lines; /* sorted */
    size_t count, root; /* root: how much of `path` is the folder */
    bool is_all;        /* every entry of the folder must be on the list, not only what is below its names */
    char path[PATH_MAX];
};

static int compare_lines(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void walk_fini(struct walk *walk)
{
    free(walk->text);
    free(walk->lines);
}

static int walk_init(struct walk *walk, const char *folder, const struct wp_buffer *list)
{
    size_t lines = 1;
    *walk = (struct walk){.text = strndup(list->data ? (const char *)list->data : "", list->size)};
    for (const char *at = walk->text; at && (at = strchr(at, '\n')); at++)
        lines++;
    walk->lines = walk->text ? calloc(lines, sizeof(*walk->lines)) : NULL;
    if (!walk->lines) {
        walk_fini(walk);
        return -ENOMEM;
    }
    for (char *rest = walk->text, *line; (line = strsep(&rest, "\n"));)
        if (*line)
            walk->lines[walk->count++] = line;
    qsort(walk->lines, walk->count, sizeof(*walk->lines), compare_lines);
    walk->root = (size_t)snprintf(walk->path, sizeof(walk->path), "%s", folder);
    return walk->root < sizeof(walk->path) ? 0 : -ENAMETOOLONG;
}

/* The first line that is not before `text`. */
static const char *line_from(const struct walk *walk, const char *text)
{
    size_t low = WP_LOWER_BOUND(middle, 0, walk->count, strcmp(walk->lines[middle], text) < 0);
    return low < walk->count ? walk->lines[low] : "";
}

static bool is_listed_file(const struct walk *walk, const char *name)
{
    return !strcmp(line_from(walk, name), name);
}

static bool is_listed_folder(const struct walk *walk, const char *name)
{
    char prefix[PATH_MAX];
    size_t size = (size_t)snprintf(prefix, sizeof(prefix), "%s/", name);
    return size < sizeof(prefix) && !strncmp(line_from(walk, prefix), prefix, size);
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

/* -EEXIST with the stranger's name. */
static int refuse_strangers(const char *folder, const struct wp_buffer *list, bool is_all, struct wp_error *err)
{
    struct walk walk;
    int rc = walk_init(&walk, folder, list);
    if (rc == -ENOMEM)
        return wp_error_set(err, rc, "out of memory for the list of files");
    walk.is_all = is_all;
    if (!rc)
        rc = walk_folder(&walk, walk.root);
    if (rc > 0)
        rc = wp_error_set(err, -EEXIST,
            "'%s' was not made by wakepath-reporter and stands among its pages, which are replaced: "
            "move it away, or choose another --out",
            walk.path);
    else if (rc)
        rc = wp_error_errno(err, rc, "cannot look through '%s'", folder);
    walk_fini(&walk);
    return rc;
}

int wp_site_strangers(const char *out, const struct wp_buffer *manifest, struct wp_error *err)
{
    return manifest->size ? refuse_strangers(out, manifest, false, err) : 0;
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
                                                         : refuse_strangers(folder, &list, true, err);
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
